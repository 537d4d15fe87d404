"""The CUDA kernels on a CPU: their sources compiled by a C++ compiler, one fiber for each thread of a block.

:func:`emulated_launch` takes the place of ``llise.engine.cuda_launch.launch`` for NumPy arrays, so that the
logic of the kernels is checked where there is no GPU.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from llise.engine.cuda_launch import source_of

COMPILER = shutil.which("g++") or shutil.which("clang++")
HEADER = Path(__file__).parent / "cuda" / "emulation.h"
TYPES = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.float64: ctypes.c_double}
KERNEL = r"__global__ void (?:__launch_bounds__\(\w+\) )?(\w+)\((.*?)\) \{"  # its name and its parameters
seed = 0  # of the order in which the threads of a block run; 0 is ascending


def emulated_launch(name, constants, blocks, threads, shared, *arguments):
    """Run a kernel on the CPU; parameters as those of ``launch``."""
    file, _, function = name.partition(".")
    library = _library(file, tuple(sorted(constants.items())))
    diverged = getattr(library, f"run_{function}")(blocks, threads, seed, *(_passed(value) for value in arguments))
    assert not diverged, f"threads of {name} have met different numbers of barriers"


def _passed(argument):
    if argument is None:
        return ctypes.c_void_p(0)
    if isinstance(argument, np.generic):
        return TYPES[type(argument)](argument.item())
    assert argument.flags.c_contiguous
    return ctypes.c_void_p(argument.ctypes.data)


@cache
def _library(file, constants):
    source = source_of(file)
    lines = [f'#include "{HEADER}"', *(f"#define {name} {value}" for name, value in constants), source]
    for function, parameters in re.findall(KERNEL, source, re.S):
        names = ", ".join(re.findall(r"(\w+)\s*(?:,|$)", parameters.strip()))
        lines.append(
            f'extern "C" int run_{function}(int blocks, int threads, int seed, {parameters}) '
            f"{{ return launch(blocks, threads, seed, [=] {{ {function}({names}); }}); }}"
        )
    with tempfile.TemporaryDirectory() as folder:
        path, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        path.write_text("\n".join(lines))
        command = [COMPILER, "-std=c++17", "-O1", "-w", "-fPIC", "-shared", str(path), "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))
