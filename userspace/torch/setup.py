# SPDX-License-Identifier: MIT
"""Builds ltp_torch for the PyTorch that is installed: pip install --no-build-isolation
./userspace/torch"""
import glob
import os

from setuptools import setup

try:
    from torch.utils.cpp_extension import BuildExtension, CppExtension
except ImportError as e:
    raise SystemExit("PyTorch is not installed (or not for this Python): install it, then build "
                     "ltp_torch with --no-build-isolation") from e

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)

setup(
    ext_modules=[CppExtension(
        "ltp_torch._native",
        # libltp is compiled in: the package needs no other library.
        sorted(glob.glob("csrc/*.cpp")) +
        sorted(s for s in glob.glob("../libltp/*.cpp") if "capi" not in s),
        include_dirs=[os.path.join(HERE, "../libltp"), os.path.join(HERE, "../../uapi")],
        extra_compile_args=["-O3", "-g1", "-fvisibility=hidden", "-Wall", "-Wextra",
                            "-Wno-unused-parameter"],
    )],
    cmdclass={"build_ext": BuildExtension},
)
