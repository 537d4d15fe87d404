"""How every kernel is compiled: no Python objects, the GIL released, cached on disk where a folder can be written.

This file uses ``numba.config.CACHE_DIR``, Numba's events (``numba.core.event``), the cache of a compiled function
(``_cache``), and the steps of its compiler, which are not part of Numba's stable interface.  It holds for
Numba 0.60 to 0.68 (``tests/test_numba.py`` checks the installed version).
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from tqdm import tqdm

from llise.storage.folders import cache_folder

FAST = {"reassoc", "contract", "arcp", "nsz"}
"""Sums may be reordered into vector lanes; NaN and infinity keep their meaning."""

OBJECTS = 50_000
"""New objects after which Python looks for unused ones while Numba compiles, instead of 700."""

NOTICE = "llise: compiling the numerical kernels (once per machine, up to a minute)"

NOT_CACHED = (
    "the compiled numerical kernels cannot be kept on disk, so that every run compiles them again (up to a minute); "
    "set NUMBA_CACHE_DIR to a folder that can be written"
)
"""Said once where neither the package's folder nor the user's cache folder can be written."""


def jit(**options: Any) -> Callable:
    """Return the decorator that compiles a kernel: ``numba.njit`` with the options that all kernels share."""
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "pipeline_class": _Compiler}

    def compiled(function: Callable) -> Callable:
        try:
            kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # Numba has found no folder that can be written
            compilation_notice.warn_not_cached()
            return numba.njit(**options)(function)
        _tolerate_errors(kernel._cache)
        return kernel

    return compiled


def part(allocates: bool = False, **options: Any) -> Callable:
    """Return the decorator that compiles a function which only kernels call."""
    options |= {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options |= {"_nrt": allocates, "pipeline_class": _PartCompiler}
    return numba.njit(**options)


def python_callable(function: Any) -> Callable:
    """Return what :func:`part` made as a kernel of its own, which Python can call, for tests and measurements."""
    return jit(fastmath=function.targetoptions.get("fastmath", False))(function.py_func)


class _PartLibrary(JITCodeLibrary):
    """Code that is linked into its callers, optimised and translated there."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address, since Python does not call this code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What sets the environment of the code, in which a function that Python can call has its objects."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Set no environment."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Numba's step from typed to compiled code."""

    _name = "llise_part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)


class _Compiler(CompilerBase):
    """Numba's steps without those for what no kernel has: functions inside functions, expressions of whole arrays."""

    lowering = NativeLowering

    def define_pipelines(self) -> list:
        """Return the steps."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        needed = [(step, why) for step, why in steps.passes if step not in (InlineClosureLikes, NopythonRewrites)]
        steps.passes = [(self.lowering if step is NativeLowering else step, why) for step, why in needed]
        steps.finalize()
        return [steps]


class _PartCompiler(_Compiler):
    """The same with our own step from typed to compiled code."""

    lowering = _PartLowering


def _tolerate_errors(cache: Any) -> None:
    """Let a kernel run that was compiled but could not be saved: the disk is full, or the folder has vanished."""
    save = cache.save_overload

    def save_overload(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:
            cache.disable()
            compilation_notice.warn_not_cached()

    cache.save_overload = save_overload


class RareCollections(event.Listener):
    """Lets Python look for unused objects less often while Numba compiles, which makes and keeps very many of them.

    Numba sends the events of a thread that holds the lock of its compiler, in pairs that may be nested.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.usual = gc.get_threshold()

    def on_start(self, event: event.Event) -> None:
        """Collect rarely from the outermost compilation on."""
        if self.depth == 0:
            self.usual = gc.get_threshold()
            gc.set_threshold(self.usual[0] and max(self.usual[0], OBJECTS), *self.usual[1:])
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        """Collect as usual after the outermost one."""
        self.depth -= 1
        if self.depth == 0:
            gc.set_threshold(*self.usual)


class CompilationNotice(event.Listener):
    """Says once, where standard error is a terminal, that a kernel of this package is being compiled.

    Numba sends the event when it compiles, and not when it loads a kernel from its disk cache.
    """

    def __init__(self) -> None:
        self.pending = True
        self.cached = True

    def warn_not_cached(self) -> None:
        """Warn, once, that kernels cannot be kept on disk."""
        if self.cached:
            self.cached = self.pending = False
            warnings.warn(NOT_CACHED, RuntimeWarning, stacklevel=2)

    def on_start(self, event: event.Event) -> None:
        """Print the notice when the first kernel of this package is compiled."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("llise.")
        if self.pending and ours and sys.stderr is not None and sys.stderr.isatty():
            self.pending = False
            tqdm.write(NOTICE, file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        """Do nothing: the results follow anyway."""


def _use_writable_cache() -> None:
    """Numba caches beside the source; where that is read-only, use the user's cache folder."""
    if not os.environ.get("NUMBA_CACHE_DIR") and not os.access(Path(__file__).parent, os.W_OK):
        setattr(numba.config, "CACHE_DIR", str(cache_folder() / "numba"))  # noqa: B010


_use_writable_cache()
compilation_notice = CompilationNotice()
event.register("numba:compile", compilation_notice)
event.register("numba:compile", RareCollections())
