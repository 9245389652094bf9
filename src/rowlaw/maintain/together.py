"""What is listed of laws of several kinds, kept current: see :mod:`rowlaw.discovery.together` for what that is.

Whether a denial constraint is no news beside other laws depends only on those laws about its columns. So after a batch only the denial
constraints that are new, or that have all columns of a law that came or went, are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeVar

import numpy as np

from rowlaw.discovery.together import Dependency, Implied, follows_from_one
from rowlaw.kernels import together as kernels
from rowlaw.rules.model import Denial, FunctionalDependency, Key, OrderCompatible
from rowlaw.rules.outcomes import ANY

N = TypeVar("N")
MOST_COLUMNS = 64  # that fit into a word


class Together:
    """Which dependencies and which denial constraints are listed. ``exact``: the laws hold without exception."""

    def __init__(self, names: Sequence[str], *, exact: bool) -> None:
        self.exact = exact
        self._place = {name: i for i, name in enumerate(names)}
        self._keys: frozenset[Key] = frozenset()
        self._news: dict[Dependency, bool] = {}  # dependencies: whether keys leave them something to say
        self._kept: dict[Dependency, None] = {}
        self._said: dict[object, bool] = {}  # denial constraints: whether dependencies say as much

    def update(self, dependencies: Sequence[Dependency]) -> set[Dependency]:
        """Take in the dependencies that there are now; those that came into the list or left it."""
        keys = frozenset(rule for rule in dependencies if isinstance(rule, Key))
        if keys != self._keys:
            self._keys, self._news = keys, {}
        implied = Implied(keys if len(keys) < len(dependencies) else ())  # keys are not asked about
        self._news = {
            rule: self._news[rule] if rule in self._news else isinstance(rule, Key) or rule.denials[0] not in implied
            for rule in dependencies
        }
        before, self._kept = self._kept, {rule: None for rule, news in self._news.items() if news}
        return before.keys() ^ self._kept.keys()

    def restore(self, dependencies: Sequence[Dependency], names: Callable[[], Iterable[object]], listed: Container[object]) -> None:
        """Go on from a list: what is in it is news, and what is not in it was none."""
        self._keys = frozenset(rule for rule in dependencies if isinstance(rule, Key))
        self._news = {rule: rule in listed for rule in dependencies}
        self._kept = {rule: None for rule, news in self._news.items() if news}
        self._said = {name: name not in listed for name in names()} if dependencies else {}

    @property
    def dependencies(self) -> list[Dependency]:
        """Those that are listed."""
        return list(self._kept)

    def masks(self, columns: Iterable[Iterable[str]]) -> np.ndarray:
        """Sets of columns as lines of booleans."""
        lines = [[self._place[name] for name in names] for names in columns]
        found = np.zeros((len(lines), len(self._place)), bool)
        for line, places in zip(found, lines, strict=True):
            line[places] = True
        return found

    def denials(self, names: Sequence[N], ops: np.ndarray, changed: set[Dependency], read: Callable[[N], Denial]) -> list[N]:
        """The denial constraints that are listed, of all there are: their names, and the outcomes they accept in each column.

        ``changed`` is what :meth:`update` said; ``read`` gives the rule of a name.
        """
        if not names:
            self._said = {}
            return []
        stale = np.array([name not in self._said for name in names], bool)
        for line in self.masks(rule.columns for rule in changed):
            stale |= (ops[:, line] != ANY).all(axis=1)
        again = np.flatnonzero(stale).tolist()
        said: dict[object, bool] = {name: self._said[name] for name in names if name in self._said}
        if self.exact and len(self._place) <= MOST_COLUMNS:
            fresh = np.zeros(len(again), bool)
            kernels.implied(np.ascontiguousarray(ops[again]), *self._laws(), fresh)
            said.update(zip([names[i] for i in again], fresh.tolist(), strict=True))
        else:
            known = Implied(self._kept)
            said.update((names[i], self._says(read(names[i]), known)) for i in again)
        self._said = said
        return [name for name in names if not said[name]]

    def _laws(self) -> tuple[np.ndarray, np.ndarray]:
        """The dependencies that are listed: the columns that are equal, and the others."""
        contexts, sides = np.zeros(len(self._kept), np.uint64), np.full((len(self._kept), 3), -1, np.int64)
        for i, rule in enumerate(self._kept):
            equal: Sequence[str] = ()
            match rule:
                case Key():
                    equal = rule.columns
                case FunctionalDependency():
                    equal, sides[i, 0] = rule.left, self._place[rule.right]
                case OrderCompatible():
                    equal, sides[i] = rule.context, (self._place[rule.left], self._place[rule.right], rule.descending)
            contexts[i] = sum(1 << self._place[name] for name in equal)
        return contexts, sides

    def _says(self, denial: Denial, known: Implied) -> bool:
        return denial in known if self.exact else follows_from_one(denial, self._kept)
