"""Statistics of the columns of a relation: what the predicate space is made from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.relation.align import common_scale
from rowlaw.relation.relation import Relation, RelationColumn


def shared_values(left: pa.Array, right: pa.Array) -> float:
    """The share of distinct values that two columns have in common, of the larger count of them.

    >>> shared_values(pa.array([1, 2, 3]), pa.array([3.0, 4.0]))
    0.3333333333333333
    """
    if not len(left) or not len(right):
        return 0.0
    fewer, more = sorted((left, right), key=len)
    if fewer.type == more.type:
        return pc.sum(pc.is_in(fewer, value_set=more)).as_py() / len(more)  # type: ignore[no-any-return]
    a, b = common_scale(fewer, more)
    return len(np.intersect1d(a, b, assume_unique=True)) / len(more)


@dataclass(frozen=True)
class RelationStatistics:
    """The statistics of a relation. Of a thousand columns there are half a million pairs: each column is looked at
    once."""

    relation: Relation

    @property
    def rows(self) -> int:
        return self.relation.rows

    @property
    def row_id(self) -> tuple[str, ...]:
        return self.relation.row_id

    @property
    def columns(self) -> tuple[RelationColumn, ...]:
        return self.relation.columns

    def column(self, name: str) -> RelationColumn:
        return self.relation.column(name)

    def shared_values(self, left: str, right: str) -> float:
        return shared_values(self._dictionary(left), self._dictionary(right))

    def mean(self, name: str, *, exact: bool) -> Any:
        """The mean over the finite values, weighted by how often each occurs; None if there are none."""
        if (name, exact) not in self._means:
            self._means[name, exact] = self._mean(name, exact=exact)
        return self._means[name, exact]

    def frequent_values(self, name: str, share: float) -> list[Any]:
        counts = self._counts(name)
        often = np.flatnonzero((counts >= share * self.rows) & (counts > 0))
        return self._dictionary(name).take(pa.array(often)).to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def _dictionaries(self) -> dict[str, pa.Array]:
        return {}

    @cached_property
    def _means(self) -> dict[tuple[str, bool], Any]:
        return {}

    def _dictionary(self, name: str) -> pa.Array:
        if name not in self._dictionaries:
            self._dictionaries[name] = self.relation.dictionary(name)
        return self._dictionaries[name]

    def _counts(self, name: str) -> np.ndarray:
        """How many rows have each value: ``int64[distinct]``."""
        codes = self.relation.codes(name)
        return np.bincount(codes[codes >= 0], minlength=self.column(name).distinct)

    def _mean(self, name: str, *, exact: bool) -> Any:
        counts, dictionary = self._counts(name), self._dictionary(name)
        if exact or pa.types.is_decimal(dictionary.type):
            finite = [
                (Fraction(v), int(n)) for v, n in zip(dictionary.to_pylist(), counts, strict=True) if math.isfinite(v)
            ]
            total = sum(n for _, n in finite)
            return sum((v * n for v, n in finite), Fraction(0)) / total if total else None
        numbers = dictionary.to_numpy(zero_copy_only=False).astype(np.float64)
        known = np.isfinite(numbers)
        if not counts[known].sum():
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.abs(numbers[known]) @ counts[known]
            mean = float(numbers[known] @ counts[known] / counts[known].sum())
            # values that cancel leave a mean that is rounding error
            return mean if abs(mean) * counts[known].sum() > 1e-6 * spread else float("nan")
