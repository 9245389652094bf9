"""Whether keys, functional dependencies and order compatibilities deny all that a denial constraint denies."""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int64Array, Uint8Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.rules.outcomes import ANY, EQUAL_BIT, HIGHER_BIT, LOWER_BIT

_u64 = np.uint64
_0, _1 = _u64(0), _u64(1)


@njit(cache=True, nogil=True)
def implied(ops: Uint8Array, contexts: Uint64Array, sides: Int64Array, out: BoolArray) -> None:
    """Decide for each denial constraint whether other laws imply it.

    ``ops``: ``uint8[rules, columns]``, the outcomes that are accepted. ``contexts``: ``uint64[laws]``, the columns
    of laws that are equal, as bits. ``sides``: ``int64[laws, 3]``, their others: -1, -1 for a key; a column and -1
    for one that is determined; two columns, and 1 where they never run along each other (0: against). ``out``:
    ``bool[rules]``, written. Each way to satisfy the comparisons of a constraint with ``<``, ``=`` or ``>`` only
    has to be denied by a law.
    """
    columns = ops.shape[1]
    used, first, ways = np.empty(columns, np.int64), np.empty((columns, 2), np.uint8), np.empty(columns, np.int64)
    choice = np.empty(columns, np.int64)
    for r in range(len(ops)):
        n = 0
        for c in range(columns):
            if ops[r, c] != ANY:
                used[n], ways[n], choice[n] = c, 0, 0
                for outcome in (LOWER_BIT, EQUAL_BIT, HIGHER_BIT):
                    if ops[r, c] & outcome:
                        first[n, ways[n]] = outcome
                        ways[n] += 1
                n += 1
        denied = True
        while denied:
            equal, less, greater = _0, _0, _0
            for k in range(n):
                bit, outcome = _1 << _u64(used[k]), first[k, choice[k]]
                if outcome == LOWER_BIT:
                    less |= bit
                elif outcome == EQUAL_BIT:
                    equal |= bit
                else:
                    greater |= bit
            denied = _denied(equal, less, greater, contexts, sides)
            k = 0
            while k < n and choice[k] + 1 == ways[k]:
                choice[k] = 0
                k += 1
            if k == n:
                break
            choice[k] += 1
        out[r] = denied


@njit(cache=True, nogil=True)
def _denied(equal: np.uint64, less: np.uint64, greater: np.uint64, contexts: Uint64Array, sides: Int64Array) -> bool:
    """Say whether a law denies pairs with these outcomes (columns as bits). ``contexts``, ``sides`` as in
    :func:`implied`."""
    for d in range(len(contexts)):
        if contexts[d] & ~equal:
            continue
        if sides[d, 0] < 0:
            return True
        a = _1 << _u64(sides[d, 0])
        if sides[d, 1] < 0:
            if (less | greater) & a:
                return True
            continue
        b = _1 << _u64(sides[d, 1])
        along = (less & a and less & b) or (greater & a and greater & b)
        against = (less & a and greater & b) or (greater & a and less & b)
        if along if sides[d, 2] else against:
            return True
    return False
