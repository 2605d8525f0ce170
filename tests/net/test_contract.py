# SPDX-License-Identifier: GPL-2.0
"""The table of contract.txt, which is also that of ltp(7): call by call, state by state."""
import pytest

from tests.net import contract, lab


def test_table_is_whole() -> None:
    """A row for each call in each state, and no other."""
    assert list(contract.read()) != []
    wanted = {(call, state) for call in contract.CALLS for state in contract.STATES}
    assert set(contract.read()) == wanted


@pytest.mark.parametrize("state", contract.STATES)
def test_state(net: lab.Net, state: str) -> None:
    """What the kernel does is what the table says: for LTP, and for TCP, whose way it goes."""
    table = contract.read()
    seen = contract.observe(net, state)
    wrong = {
        f"{call}, {kind}": (row[kind], table[call, state][kind])
        for (call, _), row in seen.items()
        for kind in contract.KINDS
        if row[kind] != table[call, state][kind]
    }
    assert not wrong, f"(what it is, what it should be): {wrong}"


def test_manual_page() -> None:
    """ltp(7) has the table as it is."""
    assert contract.man_parts()[1] == contract.man_block(contract.read())
