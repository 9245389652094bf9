"""Laws that no rows could break, which are not reported.

A law about pairs is *vacuous* if there are no two different rows, one with values in all columns that it compares in
``s``, the other in all that it compares in ``t``; with ``nulls="equal"`` null is a value, and two rows are enough. A
law about one row is vacuous if no row has values in all its columns. Whatever implies a law compares no more than the
law does. So a law that implies one that is not vacuous is not vacuous either, and leaving the vacuous ones out of the
result leaves it complete and minimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from rowlaw.evidence.slots import Slot
from rowlaw.relation.known import KnownRows
from rowlaw.rules.model import Column, Denial, Rule
from rowlaw.rules.outcomes import ANY

R = TypeVar("R", bound=Rule)


def not_vacuous(rules: Sequence[R], known: KnownRows) -> list[R]:
    """The rules that some rows could break: denial constraints, and those of the other kinds that discovery finds.

    >>> from rowlaw.rules import parse
    >>> codes = {"a": np.array([0, -1]), "b": np.array([0, 0])}
    >>> known = KnownRows.of(["a", "b"], codes.__getitem__, 2)
    >>> [str(rule) for rule in not_vacuous([parse("key (a)"), parse("key (b)"), parse("not (s.a = t.b)")], known)]
    ['key (b)', 'not (s.a = t.b)']
    """
    if known.everything:
        return list(rules)
    index = {name: i for i, name in enumerate(known.names)}
    in_s, in_t = np.zeros((2, len(rules), len(index)), bool)
    of_pairs = np.ones(len(rules), bool)
    for i, rule in enumerate(rules):
        if isinstance(rule, Denial):
            of_pairs[i] = rule.arity == 2
            for p in rule.predicates:
                for operand in (p.left, p.right):
                    if isinstance(operand, Column) and operand.name in index:
                        (in_s if operand.row == "s" else in_t)[i, index[operand.name]] = True
        else:  # the other kinds compare each column with itself
            places = [index[name] for name in rule.columns if name in index]
            in_s[i, places] = in_t[i, places] = True
    return [rule for rule, kept in zip(rules, known.could_break(in_s, in_t, of_pairs).tolist(), strict=True) if kept]


def sets_not_vacuous(slots: Sequence[Slot], accepted: np.ndarray, known: KnownRows) -> np.ndarray:
    """For rules given by the outcomes they accept in each slot (``uint8[rules, slots]``), whether some rows could break
    each."""
    if known.everything:
        return np.ones(len(accepted), bool)
    index = {name: i for i, name in enumerate(known.names)}
    columns = np.zeros((2, len(slots), len(index)), bool)  # that a slot compares in s and in t
    speaks = np.zeros((2, len(slots)), bool)  # whether it compares anything there
    for i, slot in enumerate(slots):
        for operand in (slot.left, slot.right):
            if isinstance(operand, Column):
                row = "st".index(operand.row)
                speaks[row, i] = True
                if operand.name in index:
                    columns[row, i, index[operand.name]] = True
    used = (accepted != ANY).astype(np.float32)
    in_s, in_t = (used @ some.astype(np.float32) > 0 for some in columns)
    about_s, about_t = (used @ some.astype(np.float32) > 0 for some in speaks)
    return known.could_break(in_s, in_t, about_s & about_t)
