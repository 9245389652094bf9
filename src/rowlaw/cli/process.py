"""The process of a command: what it spares itself from its start to its end (docs/speed.md), and how it ends on Ctrl-C.

The command runs in a thread, and the main thread waits for it and for signals. So Ctrl-C is handled at once, whatever
the command is doing, and never raises an exception inside of it. None of this is done to a program that imports rowlaw:
there the process belongs to somebody else.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

from rowlaw.errors import RUN_FAILED
from rowlaw.interrupts import heard
from rowlaw.output import discard_drafts

_TIDY_SECONDS = 1.0  # for removing scratch files, when the process ends on Ctrl-C
_LOADED = time.monotonic()  # about when the process began
_ours = threading.Event()  # set while the process is that of one command, and not of a program that calls it
_CLEAR_LINE = b"\r\x1b[K\x1b[?25h"  # a progress bar hides the cursor


def main() -> None:
    """Run the command of this process, and end it."""
    _ours.set()
    sys.meta_path.insert(0, _PandasOnDemand())  # a check of two rules: 1.26 instead of 1.58 s of processor time
    if not callable(signal.getsignal(signal.SIGINT)):  # in the background of a script Ctrl-C is somebody else's
        _leave(_command())
    ended: list[BaseException | None] = []
    running = threading.Lock()
    running.acquire()

    def work() -> None:
        ended.append(_command())
        running.release()

    with heard(_stopped):
        command = threading.Thread(target=work, name="rowlaw", daemon=True)
        command.start()
        running.acquire()  # signals are handled meanwhile
    signal.signal(signal.SIGINT, _stopped)
    command.join()
    _leave(ended[0])


def seconds_taken() -> float:
    """Return how long the command has run, from the start of its process: a time limit counts from there."""
    return time.monotonic() - _LOADED if _ours.is_set() else 0.0


def _command() -> BaseException | None:
    """Run the command; what it ended with."""
    try:
        from rowlaw.cli.app import main as run

        run()
    except BaseException as error:
        return error
    return None


def _stopped(*_: object) -> None:
    end_now("stopped", RUN_FAILED)


def end_now(message: str, code: int) -> NoReturn:
    """End the process without waiting for anything: one line on stderr, scratch files removed, no exit code but
    this. Any thread may call it: a press of Ctrl-C is heard in whichever thread is first."""
    with suppress(ValueError):  # only the main thread sets handlers
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.write(2, (_CLEAR_LINE if os.isatty(2) else b"") + f"{message}\n".encode())
    with suppress(OSError):  # what the command still says while files go away under it is of no use
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    tidy = threading.Thread(target=_tidy, daemon=True)
    tidy.start()
    tidy.join(_TIDY_SECONDS)
    os._exit(code)


def _tidy() -> None:
    discard_drafts()
    atexit._run_exitfuncs()  # undocumented; removes the scratch folders of relations, which os._exit would leave behind
    discard_drafts()


class _PandasOnDemand(MetaPathFinder):
    """Hides pandas from pyarrow, which imports it with the first array it makes, only to know pandas' types when it
    meets them.

    That takes longer than a small check. What pyarrow imports, being compiled, seems to be imported by whoever called
    it: here modules of rowlaw, which never import pandas themselves. Spark and everybody else find it as ever, and so
    does pyarrow once it really needs it.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002 - a finder's parameters
        if name != "pandas":
            return
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
            # asked for by name: spreadsheets are read by pandas
            if frame.f_globals["__name__"] in ("importlib", "importlib.util"):
                return
            frame = frame.f_back
        if frame.f_globals.get("__name__", "").startswith("rowlaw."):
            raise ModuleNotFoundError(f"{name} is not wanted here", name=name)


def _leave(ended: BaseException | None) -> NoReturn:
    """End the process as Python does, but without taking apart every module and object first, of which Numba alone has
    a great many.

    Spark's Java process ends by itself when its standard input is closed, which the end of this process does.
    """
    code = ended.code if isinstance(ended, SystemExit) else None
    if (ended is not None and not isinstance(ended, SystemExit)) or not isinstance(code, int | None):
        raise ended  # type: ignore[misc]  # the usual way: Python says what it is
    try:
        # The two undocumented functions are what Python calls first when it ends. Ending here instead of after taking
        # all modules apart: 1.26 instead of 1.46 s of processor time for a check of two rules.
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # a stream that is closed or full: Python says so in its own way
        raise SystemExit(code) from None
    os._exit(code or 0)
