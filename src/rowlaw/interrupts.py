"""Ctrl-C: pass it to the part of the program that asked for it, without raising an exception inside other code.

An exception that Python's own handler raises can come up anywhere: while Numba makes Python objects of a kernel's
results it ends as ``SystemError: ... returned a result with an exception set``, and at the end of the process as a
traceback. So whoever can end in an orderly way listens, and a press calls the listener. Only a press that no listener
takes does what it did before.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Listener = Callable[[], bool]  # whether the press was taken; called from any thread

_SEND_AGAIN = 100  # milliseconds after which the main thread, if it has not heard of a press, is sent it again

_listeners: list[Listener] = []
_presses = 0


def press() -> bool:
    """Offer a Ctrl-C to the listeners, the latest first; whether one took it."""
    global _presses  # noqa: PLW0603 - a process has one keyboard
    _presses += 1
    asked = _listeners[: _listeners.index(_no_listener)] if _no_listener in _listeners else _listeners
    return any(listener() for listener in reversed(asked))


def first() -> bool:
    """Take the first Ctrl-C of the process, and do nothing: a listener for work that is as good as done."""
    return _presses == 1


def _no_listener() -> bool:
    """In the list of listeners: those after it are not asked."""
    return False


@contextmanager
def unheard() -> Iterator[None]:
    """Hide Ctrl-C from those who listen inside the block: it does what it did before."""
    _listeners.append(_no_listener)
    try:
        yield
    finally:
        _listeners.remove(_no_listener)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Offer every Ctrl-C to a listener while the block runs.

    In the main thread this replaces the handler of the signal; elsewhere, as in the thread of a command, it is up to
    the main thread to call :func:`press`. A process that ignores the signal, as one in the background of a script may,
    goes on ignoring it.
    """
    outermost = not _listeners
    _listeners.append(listener)
    try:
        before = signal.getsignal(signal.SIGINT)
        if outermost and threading.current_thread() is threading.main_thread() and callable(before):
            with heard(before):
                yield
        else:
            yield
    finally:
        _listeners.remove(listener)


@contextmanager
def heard(otherwise: Callable[[int, Any], Any]) -> Iterator[None]:
    """Call :func:`press` for every Ctrl-C at once, also while the main thread is inside a kernel: Python calls handlers
    only after that.

    The interpreter writes a byte to a pipe as soon as a signal comes, so none is lost, and a thread waits for it. A
    press that no listener takes is left to the handler ``otherwise``, which runs in the main thread.
    """
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signals = _Signals(reader, otherwise)
    before = signal.getsignal(signal.SIGINT)
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signals.handle)
    waiter = threading.Thread(target=signals.wait, name="rowlaw-interrupts", daemon=True)
    waiter.start()
    try:
        yield
    finally:
        signals.end()
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup)
        os.write(writer, b"\0")
        waiter.join()
        os.close(writer)
        os.close(reader)


class _Signals:
    """Signals as bytes in a pipe, read by the handler in the main thread or by the thread that waits for them."""

    def __init__(self, reader: int, otherwise: Callable[[int, Any], Any]) -> None:
        self._reader, self._otherwise = reader, otherwise
        self._lock = threading.RLock()  # a handler may be called while a handler runs
        self._refused = 0
        self._sent_again = 0  # these are no presses
        self._over = False

    def handle(self, number: int, frame: Any) -> None:
        """Handle a signal in the main thread."""
        self._take()
        if self._refused:
            self._refused = 0
            self._otherwise(number, frame)

    def wait(self) -> None:
        """Read signals as they come, in a thread of its own.

        The system may deliver a signal to another thread than the main one, which then goes on waiting for a lock,
        and calls no handler. Where a press was refused, the main thread is sent the signal again.
        """
        ready = select.poll()
        ready.register(self._reader, select.POLLIN)
        sent = False
        while not self._over:
            sent = sent and self._refused > 0
            come = ready.poll(_SEND_AGAIN if self._refused and not sent else None)
            self._take()
            with self._lock:
                if self._refused and not come and not self._over:
                    self._sent_again, sent = self._sent_again + 1, True
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def end(self) -> None:
        """Send no signal from now on."""
        with self._lock:
            self._over = True

    def _take(self) -> None:
        with self._lock, suppress(BlockingIOError):  # nothing to read: the other thread was quicker
            for number in os.read(self._reader, 64):
                if number == signal.SIGINT and self._sent_again:
                    self._sent_again -= 1
                elif number == signal.SIGINT:
                    self._refused += not press()
