# SPDX-License-Identifier: GPL-2.0
# LTP for Linux. `make help` says what there is.

KDIR ?= /lib/modules/$(shell uname -r)/build
KNAME = $(notdir $(patsubst %/,%,$(patsubst %/build,%,$(KDIR))))
# Which kernels make lab makes: plain, kasan, lockdep, all
K ?= plain
# More arguments for pytest, such as T='-k handshake -x'
T ?=
# Arguments for the programs of tests/perf, such as A='--help'
A ?=

# How the lab's Debian sees this directory
LAB_BUILD := /ltp/build/lab
run := scripts/lab/run
pytest := python3 -m pytest -q -p no:cacheprovider
plain := $(run) --kernel plain --

.PHONY: all modules userspace tools lab lab-programs demo check check-kunit check-lib check-net check-matrix check-torch check-kernels \
	check-debug check-kasan check-lockdep check-soak check-soak-plain check-soak-kasan check-soak-lockdep coverage gathers sim sim-quick shares lint clean help

all: ##              the module for KDIR (default: the running kernel), the library and the tools, for this host
ifneq ($(wildcard $(KDIR)/Makefile),)
all: modules
else
all: no-headers
endif
all: userspace tools

.PHONY: no-headers
no-headers:
	@echo 'No module: $(KDIR) is not there. Install your kernel'\''s headers (Debian: linux-headers-$(shell uname -r))' \
		'or name a build directory with KDIR=.' >&2

modules: ##          the module alone: make modules KDIR=/lib/modules/6.12.../build; goes to build/modules/
	@scripts/build-module $(KDIR) build/modules/$(KNAME)
	@echo 'build/modules/$(KNAME)/ltp.ko'

userspace tools:
	@if [ -e $@/Makefile ]; then $(MAKE) -C $@; fi

lab: ##              the test machine: a small Debian and its kernel, in LTP_LAB_DIR; K=all: the kasan and lockdep kernels too
	@scripts/lab/make $(K)

# The library and the tools once more, for the Debian inside the lab.
lab-programs:
	@scripts/lab/make plain
	@for part in userspace tools tests/perf; do \
		[ ! -e $$part/Makefile ] || \
			scripts/lab/enter $(MAKE) --no-print-directory -s -C $$part O=$(LAB_BUILD)/$$part || exit; \
	done

demo: lab-programs ## the demonstration
	@scripts/demo/run

check: check-kunit check-lib check-net sim-quick check-torch check-kernels ## all tests; -k goes on after a failure

check-kunit: ##      the pure logic, by KUnit; fails, too, if they do not run 95 % of its lines
	@$(run) --coverage -- /ltp/tests/kunit/run
	@scripts/lab/enter tests/kunit/coverage build/modules/plain-coverage

check-lib: lab-programs ## what of the library needs no module
	@scripts/lab/enter $(MAKE) --no-print-directory -s -C userspace O=$(LAB_BUILD)/userspace check

# What waits for long runs in virtual time. All parts run, whatever fails.
check-net: lab-programs ## sockets, tools and packets, by pytest in the lab; T='-k NAME' selects
	@status=0; $(plain) $(pytest) $(T) /ltp/tests/net || status=$$?; \
	$(run) --boot ipv6.disable=1 -- $(pytest) $(T) /ltp/tests/net/test_no_ipv6.py || status=$$?; \
	$(run) --sim -- $(pytest) $(T) /ltp/tests/net/sim || status=$$?; exit $$status

check-matrix: lab-programs ## reliable and tolerant messages over all bad links there are, in virtual time: one to two hours; LTP_SEED=
	@LTP_MATRIX=all $(run) --sim -- $(pytest) $(T) /ltp/tests/net/sim/test_matrix.py

check-torch: lab-programs ## the PyTorch package, by pytest in the lab
	@$(plain) $(pytest) $(T) /ltp/tests/torch

check-kernels: ##    that the module builds for, loads into and leaves each supported stock kernel
	@scripts/kernels/check

check-debug: check-kasan check-lockdep ## the net tests again, on the kasan and lockdep kernels

check-kasan check-lockdep: check-%: lab-programs
	@$(run) --kernel $* -- $(pytest) $(T) /ltp/tests/net

check-soak: $(addprefix check-soak-,plain kasan lockdep) ## loads and unloads the module 100 times under traffic, on each kernel

check-soak-plain check-soak-kasan check-soak-lockdep: check-soak-%:
	@$(run) --kernel $* -- /ltp/tests/soak/reload

coverage: lab-programs ## which lines of the module the kunit and net tests run; a report per file in build/coverage/
	@mkdir -p build/coverage
	@$(run) --coverage -- sh -c '/ltp/tests/kunit/run; $(pytest) $(T) /ltp/tests/net'; status=$$?; \
	scripts/lab/enter gcovr --root build/modules/plain-coverage --filter '.*/kernel/' \
		--html-details build/coverage/index.html --txt - build/modules/plain-coverage && exit $$status

gathers: lab-programs ## whole gathers against what the link allows, in virtual time: a table; A='--each' and others go to tests/perf/gathers
	@$(run) --sim -- /ltp/tests/perf/gathers $(A)

sim: lab-programs ##     the evaluation in the simulated testbed, TCP, SCTP and LTP: results.json in build/sim/, tables and pictures beside; A='--scenario NAME' and others
	@python3 scripts/lab/testbed run $(A)
	@scripts/lab/enter python3 scripts/lab/testbed/report.py --out build/sim

sim-quick: lab-programs ## a few of its figures against those that are committed
	@scripts/lab/enter $(pytest) tests/testbed
	@python3 scripts/lab/testbed quick $(A)

shares: lab-programs ## streams that share a link, LTP beside TCP and beside itself, in virtual time; A= as above
	@$(run) --sim -- /ltp/tests/perf/shares $(A)

lint: ##             style and static checks
	@scripts/lint

clean: ##            removes build/ (not the lab: that is LTP_LAB_DIR)
	@rm -rf build
	@for part in userspace tools; do [ ! -e $$part/Makefile ] || $(MAKE) -s -C $$part clean; done

help: ##             this list
	@sed -n 's/^\([a-z-]*\):[^#]*## *\(.*\)/\1\t\2/p' Makefile | while IFS='	' read -r t d; do \
		printf 'make %-15s %s\n' "$$t" "$$d"; done
