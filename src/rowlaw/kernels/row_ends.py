"""Where rows of delimited text end: the states of pyarrow's CSV parser, without the values.

A quote opens a quoted field only where a field starts: in ``5" disk`` it is a character as any other. Within a quoted
field two quotes are one character, and a newline is part of the value.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int64Array, Uint8Array
from rowlaw.kernels.compiling import njit

FIELD_START, UNQUOTED, QUOTED, QUOTE_IN_QUOTED = range(4)  # states of the parser, before a byte
_NEWLINE = 10
_LINE_ENDS = (10, 13)  # newline, carriage return


def state_after(data: np.ndarray, delimiter: int, quote: int, state: int) -> int:
    """Return the state after some bytes (``uint8[bytes]``), given the state before them. Takes 10 ms for 32 MB with few
    quotes."""
    return int(_state_after(data, np.flatnonzero(data == quote), delimiter, state)) if len(data) else state


@njit(cache=True, nogil=True)
def _state_after(data: Uint8Array, quotes: Int64Array, delimiter: int, state: int) -> int:
    """Pass from quote to quote: what lies between two of them matters only next to the second.

    ``data``: ``uint8[bytes]``, at least one. ``quotes``: ``int64[quotes]``, the positions of all quotes.
    """
    last = -1  # position of the quote before
    for at in quotes:
        if state == QUOTED:
            state = QUOTE_IN_QUOTED
        else:
            if at > last + 1:
                before = data[at - 1]
                starts = before == delimiter or before in _LINE_ENDS
                state = FIELD_START if starts else UNQUOTED
            state = UNQUOTED if state == UNQUOTED else QUOTED
        last = at
    if state == QUOTED or last == len(data) - 1:
        return state
    end = data[len(data) - 1]
    return FIELD_START if end == delimiter or end in _LINE_ENDS else UNQUOTED


@njit(cache=True, nogil=True)
def first_row_end(data: Uint8Array, delimiter: int, quote: int, state: int) -> int:
    """Return the offset after the first newline that ends a row; -1: there is none.

    ``data``: ``uint8[bytes]``. ``state``: the state before its first byte.
    """
    for i in range(len(data)):
        byte = data[i]
        if state == QUOTED:
            if byte == quote:
                state = QUOTE_IN_QUOTED
        elif byte == quote and state != UNQUOTED:
            state = QUOTED
        elif byte == _NEWLINE:
            return i + 1
        elif byte == delimiter or byte in _LINE_ENDS:
            state = FIELD_START
        else:
            state = UNQUOTED
    return -1
