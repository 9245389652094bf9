"""Files that appear under their names only when they are whole: written beside, made durable, put in place in one step.

A process killed at any moment, or a full disk, leaves the file that was there before. What a killed process leaves
beside it goes with the next write of that file.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rowlaw.errors import RowlawError

_NAME_BYTES = 200  # of the file's name that the draft's name begins with: names of most file systems end at 255

drafts: set[str] = set()  # files and folders in the making, which a process that ends at once takes away


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Where to write what is to appear as ``path``: a draft beside it, through a link so that the link stays.

    A device or a pipe (``/dev/stdout``) has no name to put a file under, and is written as it is.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answer.txt")
    >>> with whole_file(path) as draft:
    ...     _ = pathlib.Path(draft).write_text("all of it")
    ...     path.exists()
    False
    >>> path.read_text()
    'all of it'
    """
    shown = os.fspath(path)
    target = check_place(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with _named(shown):
            yield target
        return
    with _named(shown):
        _sweep(target)
        draft = f"{_stem(target)}.{secrets.token_hex(8)}.part"
        drafts.add(draft)
        try:
            with open(draft, "xb") as held:
                with suppress(OSError):  # without locks, as on some network drives, no draft is deleted
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield draft
            with open(draft, "rb") as written:
                os.fsync(written.fileno())
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        finally:
            drafts.discard(draft)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[str]:
    """Where to write files that are to appear together as the folder ``path``, which must not exist.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answers")
    >>> with whole_folder(path) as draft:
    ...     _ = pathlib.Path(draft, "part").write_text("all of it")
    ...     path.exists()
    False
    >>> [file.name for file in path.iterdir()]
    ['part']
    """
    target = check_place(path)
    with _named(os.fspath(path)):
        draft = f"{_stem(target)}.{secrets.token_hex(8)}.part"
        drafts.add(draft)
        try:
            os.mkdir(draft)
            yield draft
            os.rename(draft, target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        finally:
            drafts.discard(draft)


def discard_drafts() -> None:
    """Remove what is being written, before the process ends without unwinding."""
    for path in list(drafts):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            os.unlink(path)


def check_place(path: str | os.PathLike[str]) -> str:
    """Return where a file of this name will lie, if one can: a long run asks before it begins."""
    shown, target = os.fspath(path), os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(target)):
        raise RowlawError("NO_SUCH_FILE", path=os.path.dirname(shown), hint="; create the folder first")
    if os.path.isdir(target):
        raise RowlawError("FILE_NOT_WRITTEN", path=shown, problem="it is a folder")
    return target


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which no file can hold
        raise RowlawError(
            "FILE_NOT_WRITTEN", path=os.fspath(path), problem="a name or a text in it is not valid Unicode"
        ) from None
    with whole_file(path) as draft, open(draft, "wb") as stream:
        stream.write(data)


@contextmanager
def _named(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough
        raise
    except OSError as error:
        raise RowlawError("FILE_NOT_WRITTEN", path=path, problem=error.strerror or str(error)) from error


def _stem(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[:_NAME_BYTES]))


def _sweep(target: str) -> None:
    """Delete the drafts of this file that no process writes any more: a living writer holds a lock."""
    folder, name = os.path.split(_stem(target))
    ours = re.compile(re.escape(name) + r"\.[0-9a-f]{16}\.part")
    for other in os.listdir(folder):
        if ours.fullmatch(other):
            with suppress(OSError), open(os.path.join(folder, other), "rb") as draft:
                fcntl.flock(draft, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(draft.name)
