"""The rules of a state, column by column: hundreds of thousands are read without an object for each."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

Packed = tuple[Any, ...]  # a rule as a short JSON value; of a denial constraint "dc" and the numbers of its terms


class Entry(NamedTuple):
    """A rule that lives: its number, the batch that brought it, and what was measured then."""

    number: int
    packed: Packed
    born: int
    error: float | None = None
    support: int | None = None
    score: float | None = None

    @property
    def id(self) -> str:
        return f"R{self.number}"


@dataclass(frozen=True, eq=False)
class EntryColumns:
    """Entries, each put together when it is asked for.

    >>> columns = EntryColumns.of([Entry(4, ("dc", 0, 7), born=2, score=0.5), Entry(6, ("key", "a"), born=2)])
    >>> columns.position(6), columns.position(5), columns[0]
    (1, None, Entry(number=4, packed=('dc', 0, 7), born=2, error=None, support=None, score=0.5))
    """

    numbers: np.ndarray  # int64[entries]
    terms: np.ndarray  # int32[terms]: the terms of all denial constraints, one after the other
    ends: np.ndarray  # int64[entries]: where those of each entry end
    others: Mapping[int, Packed]  # rules that are no denial constraints, by their positions
    born: np.ndarray  # int64[entries]
    errors: np.ndarray  # float64[entries], NaN where it is not known, as in the next two
    supports: np.ndarray  # int64[entries], -1 where it is not known
    scores: np.ndarray  # float64[entries]

    @staticmethod
    def of(entries: Sequence[Entry]) -> EntryColumns:
        numbers, packed, born, errors, supports, scores = zip(*entries, strict=True) if entries else [()] * 6
        terms = [rule[1:] if rule[0] == "dc" else () for rule in packed]
        return EntryColumns(
            np.array(numbers, np.int64),
            np.fromiter(chain.from_iterable(terms), np.int32),
            np.cumsum(np.fromiter(map(len, terms), np.int64, len(terms))),
            {place: rule for place, rule in enumerate(packed) if rule[0] != "dc"},
            np.array(born, np.int64),
            np.array(errors, float),
            np.array([-1 if support is None else support for support in supports], np.int64),
            np.array(scores, float),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, position: int) -> Entry:
        error, support, score = (column[position].item() for column in (self.errors, self.supports, self.scores))
        first = int(self.ends[position - 1]) if position else 0
        return Entry(
            int(self.numbers[position]),
            self.others.get(position) or ("dc", *self.terms[first : self.ends[position]].tolist()),
            int(self.born[position]),
            None if math.isnan(error) else error,
            None if support < 0 else support,
            None if math.isnan(score) else score,
        )

    def __iter__(self) -> Iterator[Entry]:
        packed: list[Packed] = [
            ("dc", *terms) for terms in cut(self.terms.tolist(), np.diff(self.ends, prepend=0).tolist())
        ]
        for position, rule in self.others.items():
            packed[position] = rule
        supports = [None if support < 0 else support for support in self.supports.tolist()]
        errors, scores = optional(self.errors), optional(self.scores)
        return map(Entry, self.numbers.tolist(), packed, self.born.tolist(), errors, supports, scores)

    def position(self, number: int) -> int | None:
        """Return the position of the entry with this number, if there is one."""
        place = int(np.searchsorted(self._sorted, number))
        if place == len(self._sorted) or self._sorted[place] != number:
            return None
        return int(self._order[place])

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.numbers, kind="stable")

    @cached_property
    def _sorted(self) -> np.ndarray:
        return self.numbers[self._order]

    def to_json(self) -> dict[str, Any]:
        return {
            "numbers": to_text(self.numbers),
            "terms": to_text(self.terms),
            "lengths": to_text(np.diff(self.ends, prepend=0).astype(np.int32)),
            "others": self.others,
            "born": to_text(self.born),
            "errors": to_text(self.errors),
            "supports": to_text(self.supports),
            "scores": to_text(self.scores),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> EntryColumns:
        return EntryColumns(
            of_text(value["numbers"], np.int64),
            of_text(value["terms"], np.int32),
            np.cumsum(of_text(value["lengths"], np.int32), dtype=np.int64),
            {int(position): tuple(rule) for position, rule in value["others"].items()},
            of_text(value["born"], np.int64),
            of_text(value["errors"], float),
            of_text(value["supports"], np.int64),
            of_text(value["scores"], float),
        )


# Numbers in JSON are the bytes of arrays: as many digits would take longer to write than all else that a batch does to
# the rules.


def to_text(values: np.ndarray) -> str:
    """Write the bytes of an array as a text."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def of_text(text: str, dtype: Any) -> np.ndarray:
    """Read an array that :func:`to_text` has written."""
    return np.frombuffer(base64.b64decode(text), dtype)


def cut(values: list[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Cut a list into pieces."""
    ends = list(accumulate(lengths))
    return [values[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def optional(values: np.ndarray) -> list[float | None]:
    """Return numbers as a list, NaN as None."""
    return [None if math.isnan(value) else value for value in values.tolist()]
