"""Which rules to read first: those that catch most errors that no rule above them catches.

Chosen greedily: each time the rule with the largest *gain*, the weight of the simulated errors it catches times its
*prior*. An error's weight halves each time that it is caught. The prior says which laws people write down: keys and
functional dependencies before orders, orders before other denial constraints, few columns before many, names before
measurements.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cache

import numpy as np

from rowlaw.discovery.power import Power
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.rules.model import Column, Denial, FunctionalDependency, Key, Op, OrderCompatible, Rule
from rowlaw.source.row_ids import naming_only

# chosen by benchmarks/targets/reading.py, with half of its tables
_KIND_PRIOR = {"key": 1.0, "fd": 1.0, "od": 0.45, "dc": 0.3}
_IN_ROW = 0.45  # the prior of a comparison of two columns in each row, instead of that of its kind
# the prior is divided by one plus this for each column (or comparison) beyond the fewest of its kind
_COLUMN_COST = 0.5
_FEWEST = {"key": 1, "fd": 2, "od": 2, "dc": 2}
# factor where a fraction or a long text is compared for equality: it is a measurement or a description, not a name
_MEASURED = 0.5
_FRACTIONS = ("float", "double", "halffloat", "decimal")  # types of numbers with a fraction
SENTENCE, LOOKED_AT = 25, 200  # characters of a long text on average, in so many rows
_UNRELATED = 0.5  # factor for a comparison of two columns whose names have no word in common
_NAMED = 1.3  # factor for a left side, a key or a context of columns that say that they name something
_NAMING = ("id", "key", "code", "number", "num", "ident", "identifier")
# tables name things in their first columns: the prior falls by this share from the first column to the last
_LATER = 0.2
# a left side that determines many columns names a thing: the prior grows by this times the share that it determines
_DETERMINES = 1.0
# factor for a functional dependency that goes back from a later column to an earlier one, where both determine each
# other
_BACK = 0.5
_AGAIN = 0.5  # factor for an error's weight each time that it is caught
# credit for an error on the left side of a functional dependency: it is caught, but another value than the wrong one
# differs
_LEFT = 0.5
_START = 1.0  # weight of a rule that catches nothing new
_CONSTANT = 0.5  # a column of one value counts as if its law caught so much of the errors of a column


class Prior:
    """What is known of a rule before any error is simulated."""

    def __init__(self, engine: DiscoveryEngine, rules: Sequence[Rule] = ()) -> None:
        """``rules``: all that were found; those that determine many columns, or each other, are known by them."""
        statistics = engine.statistics
        columns = [c for c in statistics.columns if c.name not in naming_only(statistics.row_id)]
        self._place = {c.name: i / max(1, len(columns) - 1) for i, c in enumerate(columns)}
        numbers = {c.name for c in columns if c.type == "number" and str(c.arrow_type).startswith(_FRACTIONS)}
        self._varying = max(1, sum(engine.sample().column(c.name).distinct > 1 for c in columns))
        self._determined: dict[tuple[str, ...], set[str]] = {}
        for rule in rules:
            if isinstance(rule, FunctionalDependency) and rule.left:
                self._determined.setdefault(rule.left, set()).add(rule.right)
        self.measured = frozenset(numbers | _sentences(engine, [c.name for c in columns if c.type == "text"]))

    def __call__(self, rule: Rule) -> float:
        length = max(len(rule.columns), len(rule.predicates)) if isinstance(rule, Denial) else len(rule.columns)
        further = max(0, length - _FEWEST[rule.kind])
        in_row = isinstance(rule, Denial) and len(rule.predicates) == rule.arity == 1
        prior = (_IN_ROW if in_row else _KIND_PRIOR[rule.kind]) / (1 + _COLUMN_COST * further)
        names = self._equal(rule)
        if names:
            prior *= _MEASURED ** sum(name in self.measured for name in names)
            prior *= _NAMED ** (sum(map(_is_name, names)) / len(names))
            prior *= 1 - _LATER * sum(self._place.get(name, 0.0) for name in names) / len(names)
        if isinstance(rule, FunctionalDependency) and rule.left:
            prior *= 1 + _DETERMINES * len(self._determined.get(rule.left, ())) / self._varying
            if len(rule.left) == 1 and rule.left[0] in self._determined.get((rule.right,), ()):
                back = self._place[rule.right] < self._place[rule.left[0]]
                prior *= _BACK if back else 1.0
        if isinstance(rule, Denial):
            for p in rule.predicates:
                if not p.same_column and isinstance(p.right, Column) and not _related(p.left.name, p.right.name):
                    prior *= _UNRELATED
        return prior

    def _equal(self, rule: Rule) -> tuple[str, ...]:
        match rule:
            case Key(columns):
                return columns
            case FunctionalDependency(left, _):
                return left
            case OrderCompatible(context):
                return context
        return tuple(p.left.name for d in rule.denials for p in d.predicates if p.same_column and p.op == Op.EQ)


def _sentences(engine: DiscoveryEngine, names: Sequence[str]) -> set[str]:
    """The columns whose texts are long: descriptions and comments."""
    if not names:
        return set()
    # by place: a column of the table may be called as the first one is
    columns = engine.some_rows(LOOKED_AT, names).columns[1:]
    sentences = set()
    for name, column in zip(names, columns, strict=True):
        texts = [text for text in column.to_pylist() if text is not None]
        if texts and sum(map(len, texts)) / len(texts) > SENTENCE:
            sentences.add(name)
    return sentences


@cache
def _related(left: str, right: str) -> bool:
    """Whether the names of two columns share a word."""
    return bool(_words(left) & _words(right))


@cache
def _is_name(name: str) -> bool:
    """Whether a column says that it names something.

    >>> [_is_name(name) for name in ("teamID", "zip_code", "tailnum", "Stateavg")]
    [True, True, True, False]
    """
    return bool(_words(name) & set(_NAMING)) or name.lower().endswith(_NAMING[1:])


def _words(name: str) -> set[str]:
    words, word = set(), ""
    for before, c in zip(" " + name, name, strict=False):
        if not c.isalnum() or (c.isupper() and before.islower()):
            words.add(word)
            word = ""
        if c.isalnum():
            word += c.lower()
    return {w.rstrip("0123456789") for w in words | {word} if w} - {""}


def greedy(
    rules: Sequence[Rule], priors: np.ndarray, power: Power, count: int, first: np.ndarray | None = None
) -> tuple[list[int], list[float], np.ndarray]:
    """Choose up to ``count`` rules, best first: their indices and gains, and the gains that the others would have then.

    ``priors``: ``float64[rules]``. ``first``: ``bool[rules]``, rules that come before all others.
    """
    errors = power.caught.shape[1]
    weights = np.ones(errors, np.float32)
    credit = power.caught.astype(np.float32)
    names = np.array(power.columns, object)
    for i, rule in enumerate(rules):
        if isinstance(rule, FunctionalDependency):
            credit[i, names != rule.right] *= _LEFT
    per_column = errors / max(1, len(set(power.columns)))
    fixed = np.array(
        [_START + (_CONSTANT * per_column if r.kind == "fd" and len(r.columns) == 1 else 0.0) for r in rules]
    )
    preferred = np.ones(len(rules), bool) if first is None else first

    def gain(index: int) -> float:
        return float((float(credit[index] @ weights) + fixed[index]) * priors[index])

    # a gain only falls while rules are chosen: one that is still the largest when it is computed again is the largest
    gains_before = (credit @ weights + fixed) * priors  # exact: all weights are 1
    waiting = [
        (not later, -value, r)
        for r, (later, value) in enumerate(zip(preferred.tolist(), gains_before.tolist(), strict=True))
    ]
    heapq.heapify(waiting)
    chosen: list[int] = []
    gains: list[float] = []
    while waiting and len(chosen) < count:
        later, _, index = heapq.heappop(waiting)
        value = gain(index)
        if waiting and (later, -value, index) > waiting[0]:
            heapq.heappush(waiting, (later, -value, index))
            continue
        chosen.append(index)
        gains.append(value)
        weights *= 1 - (1 - _AGAIN) * credit[index]
    return chosen, gains, (credit @ weights + fixed) * priors
