"""Rules whose comparisons contradict each other, found without making a rule object of each."""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int64Array, Uint8Array
from rowlaw.kernels.compiling import njit
from rowlaw.rules.outcomes import ANY, EQUAL_BIT, HIGHER_BIT, LOWER_BIT


@njit(cache=True, nogil=True)
def contradicting(ops: Uint8Array, left: Int64Array, right: Int64Array, operands: int, out: BoolArray) -> None:
    """Decide for each rule whether no values satisfy all its comparisons.

    ``ops``: ``uint8[rules, slots]``, the outcomes that are accepted. ``left``, ``right``: ``int64[slots]``, the
    operands of a slot, below ``operands`` (at most 64). ``out``: ``bool[rules]``, written. As
    :func:`rowlaw.rules.implication.is_trivial`: operands that are below each other in a circle are equal, and a
    contradiction is a ``<`` or ``!=`` between two of them.
    """
    above = np.zeros(operands, np.uint64)  # by operand, those that are not below it, as bits
    for r in range(len(ops)):
        above[:] = 0
        for i in range(ops.shape[1]):
            accepted = ops[r, i]
            if accepted == ANY:
                continue
            if not accepted & HIGHER_BIT:
                above[left[i]] |= np.uint64(1) << np.uint64(right[i])
            if not accepted & LOWER_BIT:
                above[right[i]] |= np.uint64(1) << np.uint64(left[i])
        for middle in range(operands):
            for a in range(operands):
                if above[a] >> np.uint64(middle) & np.uint64(1):
                    above[a] |= above[middle]
        is_contradiction = False
        for i in range(ops.shape[1]):
            if ops[r, i] == ANY or ops[r, i] & EQUAL_BIT:
                continue
            a, b = left[i], right[i]
            is_contradiction |= a == b or (above[a] >> np.uint64(b) & above[b] >> np.uint64(a) & np.uint64(1)) != 0
        out[r] = is_contradiction
