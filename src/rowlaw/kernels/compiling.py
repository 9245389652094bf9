"""``njit`` as kernels use it: Numba's, with a cache that is read without waking up the compiler.

Before Numba reads a compiled function from its cache it fills the tables that only compiling needs, which takes longer (0.2 s) than reading
all the kernels of a check. Here that is left to the compiler, which does it anyway, and whoever waits for the compiler is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

from rowlaw.progress import compiling


class _Kept(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function. Numba calls it with its compiler lock held: first to load, and to save what had to be compiled."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # the memory manager that compiled code calls
        found = self._load_overload(sig, target_context)
        if found is None:
            compiling(1)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        compiling(-1)
        super().save_overload(sig, data)


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel was compiled before on this machine, by any process."""
    return os.path.exists(kernel._cache._cache_file._index_path)


def njit(*, cache: bool, **options: Any) -> Callable[[Any], Any]:
    """Numba's decorator, with what is compiled kept as above."""

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            dispatcher._cache = _Kept(function)
        return dispatcher

    return compiled
