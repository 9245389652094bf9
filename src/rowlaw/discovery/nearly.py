"""Keys and functional dependencies that a few rows break: in a default run they are listed beside those that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.evidence.dependence import Dependence, measured
from rowlaw.rules.model import FunctionalDependency, Key, Rule
from rowlaw.source.row_ids import naming_only
from rowlaw.stopping import Stop, Stopped

_REMOVED = 0.01  # share of rows that may break a law which nearly holds (benchmarks/targets/reading.py)
_MU = 0.9  # mu+ that it must have at least: how much better than chance it is
_SURELY = 0.7  # of that, in the sample: a law of fewer exceptions need not be tried with further columns
_SAMPLE_REMOVED = 0.02  # share of rows of the sample, which is not exact
_PER_RIGHT = 3  # laws about one right side, and keys, that are kept
ASKED, AT_ONCE = 60, 12  # laws whose rows to remove are counted on all rows, and how many at once


@dataclass(frozen=True, slots=True)
class Nearly:
    """A law that nearly holds: without a share ``removed`` of the rows (g3). ``error``: the share of pairs that break
    it (g1).

    ``mu``: how much better than chance it is (mu+).
    """

    rule: Rule
    removed: float
    error: float
    mu: float


def nearly_hold(
    engine: DiscoveryEngine, hold: Sequence[Rule], *, measured_columns: Collection[str] = (), seed: int = 0, stop: Stop
) -> list[Nearly]:
    """Keys and functional dependencies with one or two columns on the left side that few rows break, best first; none
    that follow from the laws that ``hold``, and none with a shorter left side that would do. A key that nearly holds is
    none where one more column makes it hold, and has none of ``measured_columns``, which may differ by chance. When
    time is up, those that are known by then.
    """
    statistics = engine.statistics
    if engine.rows < 2:
        return []
    # a column of one value says nothing on a left side, and where it may be null it only stands for the rows where it
    # is not
    values = {c.name: c.distinct + (engine.nulls == "equal" and c.nulls > 0) for c in statistics.columns}
    names = [name for name, number in values.items() if number > 1 and name not in naming_only(statistics.row_id)]
    known = _Shortest(hold)
    likely: list[Dependence] = []
    keys = [frozenset(rule.columns) for rule in hold if isinstance(rule, Key)]

    def completed(law: Dependence) -> bool:
        return any(len(key) == len(law.left) + 1 and key.issuperset(law.left) for key in keys)

    with suppress(Stopped):
        for law in measured(engine.sample(), names, engine.nulls, seed=seed, stop=stop):
            if law.removed <= _SAMPLE_REMOVED and law.mu >= _MU and not known.covers(law):
                if law.right is None and (completed(law) or set(law.left) & set(measured_columns)):
                    continue
                likely.append(law)
                if law.removed <= _SURELY * _REMOVED:
                    known.add(law)
    likely.sort(key=lambda law: (len(law.left), -law.mu))  # the shortest first, should there be no time for all
    counted: list[Nearly] = []
    for start in range(0, min(ASKED, len(likely)), AT_ONCE):
        counted += _counted(engine, names, likely[start : start + AT_ONCE], stop)
    return _few_of_each(sorted(_minimal(counted), key=lambda law: (len(law.rule.columns), -law.mu)))


def _few_of_each(laws: Sequence[Nearly]) -> list[Nearly]:
    """The first laws about each right side, best first: a column that one law determines is determined by many."""
    left = Counter[str | None]()
    kept = []
    for law in laws:
        right = law.rule.right if isinstance(law.rule, FunctionalDependency) else None
        left[right] += 1
        if left[right] <= _PER_RIGHT:
            kept.append(law)
    return sorted(kept, key=lambda law: -law.mu)


def _minimal(laws: Sequence[Nearly]) -> list[Nearly]:
    """The laws without those that have a shorter left side."""

    def follows(law: Nearly, other: Nearly) -> bool:
        match law.rule, other.rule:
            case (FunctionalDependency(left, right), FunctionalDependency(shorter, same)):
                return right == same and set(shorter) < set(left)
            case (_, Key(columns)):
                known = law.rule.left if isinstance(law.rule, FunctionalDependency) else law.rule.columns
                return set(columns) < set(known)
        return False

    return [law for law in laws if not any(follows(law, other) for other in laws)]


def _counted(engine: DiscoveryEngine, names: Sequence[str], likely: Sequence[Dependence], stop: Stop) -> list[Nearly]:
    """The laws with the rows to remove counted on all rows; those that none or too many break are left out."""
    place = {name: i for i, name in enumerate(names)}
    questions = [
        Question(
            tuple(place[name] for name in law.left), (Target() if law.right is None else Target(place[law.right]),)
        )
        for law in likely
    ]
    removed: dict[Rule, tuple[float, float]] = {}
    for law, numbers in zip(likely, engine.fewest_removed(names, questions, stop), strict=True):
        for number in numbers:  # none once it is time to stop
            if 0 < number <= _REMOVED * engine.rows:
                removed[Key(law.left) if law.right is None else FunctionalDependency(law.left, law.right)] = (
                    number / engine.rows,
                    law.mu,
                )
    try:
        counts = engine.counts(list(removed), stop=stop)
    except Stopped:
        return []
    pairs = engine.rows * (engine.rows - 1)
    return [
        Nearly(rule, share, count / pairs, mu)
        for (rule, (share, mu)), count in zip(removed.items(), counts, strict=True)
    ]


class _Shortest:
    """Which left sides are known to do for each right side."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._keys: list[frozenset[str]] = []
        self._lefts: dict[str, list[frozenset[str]]] = {}
        for rule in rules:
            if isinstance(rule, Key):
                self._keys.append(frozenset(rule.columns))
            elif isinstance(rule, FunctionalDependency):
                self._lefts.setdefault(rule.right, []).append(frozenset(rule.left))

    def covers(self, law: Dependence) -> bool:
        left = frozenset(law.left)
        known = self._keys if law.right is None else [*self._keys, *self._lefts.get(law.right, ())]
        return any(some <= left for some in known)

    def add(self, law: Dependence) -> None:
        if law.right is None:
            self._keys.append(frozenset(law.left))
        else:
            self._lefts.setdefault(law.right, []).append(frozenset(law.left))
