"""``njit`` as kernels use it: Numba's, with a cache that is read without preparing the compiler.

Before Numba reads a compiled function from its cache it fills the tables that only compiling needs. Here that is left
to the compiler, which does it anyway, and the progress line says when something is compiled. With
``NUMBA_DISABLE_JIT=1`` kernels are plain Python functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

from rowlaw.progress import compiling


class _QuickCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function. Numba calls it with its compiler lock held: first to load, and to save what had to
    be compiled."""

    # FunctionCache and its method _load_overload are not part of Numba's documented interface. They stay because a
    # check of three rules takes 1.73 s of processor time with load_overload below, and 1.91 s with Numba's, which first
    # refreshes the tables of the compiler.
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # the memory manager that compiled code calls
        compiled = self._load_overload(sig, target_context)
        if compiled is None:
            compiling(1)
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        compiling(-1)
        super().save_overload(sig, data)


def is_compiled(kernel: Any) -> bool:
    """Say whether a kernel was compiled before on this machine, by any process."""
    return numba.config.DISABLE_JIT or os.path.exists(kernel._cache._cache_file._index_path)


def njit(*, cache: bool, **options: Any) -> Callable[[Any], Any]:
    """Decorate a kernel as Numba's ``njit`` does, with the cache above."""

    def decorate(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache and not numba.config.DISABLE_JIT:
            dispatcher._cache = _QuickCache(function)
        return dispatcher

    return decorate
