"""Where rowlaw keeps what it can make again: wrappers, class archives, compiled kernels.

The folder is ``$ROWLAW_CACHE``, else ``$XDG_CACHE_HOME/rowlaw``, else ``~/.cache/rowlaw``. Everything in it may be
deleted at any time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def cache_dir() -> Path:
    """Return the cache folder, made if missing; a private folder under the temporary one when the home cannot be
    written.

    >>> cache_dir().is_dir()
    True
    """
    for folder in _wanted():
        if _usable(folder):
            return folder
    # A predictable name in a shared folder is only taken when it is ours alone: compiled kernels are code.
    shared = Path(tempfile.gettempdir()) / f"rowlaw-{os.getuid()}"
    return shared if _usable(shared, private=True) else Path(tempfile.mkdtemp(prefix="rowlaw-"))


def numba_cache() -> Path:
    """Say to Numba, here and in the processes started from here, where compiled kernels are kept; a folder already
    chosen is left.

    Without it Numba writes next to the source, which fails in an installation that belongs to somebody else.

    >>> str(numba_cache()) == os.environ["NUMBA_CACHE_DIR"]
    True
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        numba = version("numba")
    except PackageNotFoundError:
        numba = "none"
    folder = cache_dir() / "numba" / f"python{sys.version_info.major}.{sys.version_info.minor}-numba{numba}"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:  # it read the environment when it was imported
        sys.modules["numba"].config.reload_config()
    return folder


def _wanted() -> list[Path]:
    named = os.environ.get("ROWLAW_CACHE")
    if named:
        return [Path(named).expanduser().absolute()]
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG specification says that relative values are to be ignored.
        return [(Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "rowlaw"]
    except RuntimeError:  # an account without a home
        return []


def _usable(folder: Path, *, private: bool = False) -> bool:
    try:
        folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        if private:
            facts = folder.lstat()
            if folder.is_symlink() or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
                return False
    except OSError:
        return False
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
