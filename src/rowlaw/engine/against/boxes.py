"""The new rows of a conflict as few *boxes*: what old rows are compared with, in a join that Spark broadcasts.

A box stands for some new rows: for each bound the least and the greatest of their values. An old row that satisfies no
box breaks the rule with none of its new rows. One box for each key is exact for up to one comparison. Two inequalities
need more: values of the first are cut into bins; an old row meets the new rows of its own bin one by one, and one box
for those of all bins beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.engine.against.conflicts import Bound

FEW_ROWS = 8  # new rows of a key that are compared one by one without bins
MOST_BOXES = 64  # of one key and bin
_MOST_BINS = 1_024
_MOST_CELLS = 1 << 18  # keys times bins
_TAIL = 0.01  # share of the values beyond the outer bins, at each end


@dataclass(frozen=True, slots=True)
class Bins:
    """Ranges of equal width of one bound's values: ``bin = (sign * value - start) * per_unit``, at least 0 and below
    ``count``."""

    bound: int
    sign: float
    start: float
    per_unit: float
    count: int

    def of(self, values: np.ndarray) -> np.ndarray:
        """The bins of values (dtype float64), dtype int64."""
        return np.clip((self.sign * values - self.start) * self.per_unit, 0, self.count - 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Boxes:
    """A table with ``key``, ``bin`` and, for bound i, ``low{i}`` and ``high{i}``."""

    table: pa.Table
    bins: Bins | None


def boxes(key: np.ndarray, values: Sequence[pa.Array], bounds: Sequence[Bound]) -> Boxes:
    """The boxes of new rows. ``key``: shape (rows,), dtype int64; ``values``: for each bound the new rows' values,
    without nulls."""
    ordered = [np.asarray(pc.rank(v, tiebreaker="dense").to_numpy(), np.int64) - 1 for v in values]
    scales = [pc.unique(v).take(pc.sort_indices(pc.unique(v))) for v in values]
    keys, number = np.unique(key, return_inverse=True)
    inequalities = [i for i, bound in enumerate(bounds) if bound.direction != "other"]
    if len(inequalities) < 2:
        return Boxes(_table(keys, np.zeros(len(keys), np.int64), _reduced(number, ordered), scales), None)
    inequalities.sort(key=lambda i: -len(scales[i]))  # that of most values tells rows apart best
    bins = _bins(len(key), len(keys), inequalities, values, bounds)
    bin_of = bins.of(values[bins.bound].to_numpy()) if bins is not None else np.zeros(len(key), np.int64)
    first = ordered[bins.bound if bins is not None else inequalities[0]]
    group = number * (bins.count if bins is not None else 1) + bin_of
    chunk = _chunks(group, first)
    single, place = np.unique(np.stack((group, chunk)), axis=1, return_inverse=True)
    width = bins.count if bins is not None else 1
    own = _table(keys[single[0] // width], single[0] % width, _reduced(place.ravel(), ordered), scales)
    if bins is None:
        return Boxes(own, None)
    beyond = _beyond(keys, number, bin_of, ordered, scales, bins)
    return Boxes(pa.concat_tables([own, beyond]), bins)


def _bins(
    rows: int, keys: int, inequalities: Sequence[int], values: Sequence[pa.Array], bounds: Sequence[Bound]
) -> Bins | None:
    """Bins for the first bound whose values are numbers; None where they are of no use."""
    numbers = [i for i in inequalities if not bounds[i].text]
    count = min(_MOST_BINS, _MOST_CELLS // max(1, keys))
    if rows <= FEW_ROWS * keys or not numbers or count < 2:
        return None
    sign = 1.0 if bounds[numbers[0]].direction == "below" else -1.0
    numbers_known = sign * values[numbers[0]].to_numpy()
    numbers_known = numbers_known[np.isfinite(numbers_known)]
    if not len(numbers_known):
        return None
    start, end = (float(x) for x in np.quantile(numbers_known, (_TAIL, 1 - _TAIL)))
    width = end - start
    if not 0 < width < float("inf") or not np.isfinite(count / width):
        return None
    return Bins(numbers[0], sign, start, count / width, count)


def _chunks(group: np.ndarray, first: np.ndarray) -> np.ndarray:
    """For each row the number of its box within its group: one for each value of the first bound, as far as there may
    be so many."""
    order = np.lexsort((first, group))
    new_group = np.r_[True, group[order][1:] != group[order][:-1]]
    new_value = new_group | np.r_[True, first[order][1:] != first[order][:-1]]
    starts = np.flatnonzero(new_group)
    sizes = np.diff(np.r_[starts, len(group)])
    value = np.cumsum(new_value) - 1
    position = value - np.repeat(value[starts], sizes)
    count = np.repeat(np.add.reduceat(new_value, starts), sizes)
    chunk = np.empty(len(group), np.int64)
    chunk[order] = np.where(count > MOST_BOXES, position * MOST_BOXES // count, position)
    return chunk


Range = tuple[np.ndarray, np.ndarray]  # for each box the least and the greatest place of a value on its scale


def _reduced(box: np.ndarray, ordered: Sequence[np.ndarray]) -> list[Range]:
    """For each bound the least and greatest place of the rows of each box; ``box``: for each row the number of its
    box."""
    order = np.argsort(box, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(box[order]) != 0]) if len(box) else np.zeros(0, np.int64)
    if not len(box):
        return [(np.zeros(0, np.int64), np.zeros(0, np.int64)) for _ in ordered]
    return [(np.minimum.reduceat(v[order], starts), np.maximum.reduceat(v[order], starts)) for v in ordered]


def _beyond(
    keys: np.ndarray,
    number: np.ndarray,
    bin_of: np.ndarray,
    ordered: Sequence[np.ndarray],
    scales: Sequence[pa.Array],
    bins: Bins,
) -> pa.Table:
    """For each key and bin one box of all rows in the bins before it: these are on the right side of the binned bound
    for sure."""
    shape = (len(keys), bins.count)
    some = np.zeros(shape, bool)
    some[number, bin_of] = True
    some = np.logical_or.accumulate(some, axis=1)[:, :-1]  # column b - 1: whether there are rows in bins below b
    key, before = np.nonzero(some)
    ranges: list[Range] = []
    for places, scale in zip(ordered, scales, strict=True):
        low, high = np.full(shape, len(scale), np.int64), np.full(shape, -1, np.int64)
        np.minimum.at(low, (number, bin_of), places)
        np.maximum.at(high, (number, bin_of), places)
        low, high = np.minimum.accumulate(low, axis=1), np.maximum.accumulate(high, axis=1)
        ranges.append((low[key, before], high[key, before]))
    table = _table(keys[key], before + 1, ranges, scales)
    for name, end in ((f"low{bins.bound}", float("-inf")), (f"high{bins.bound}", float("inf"))):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(np.full(table.num_rows, end)))
    return table


def _table(key: np.ndarray, bin_of: np.ndarray, ranges: Sequence[Range], scales: Sequence[pa.Array]) -> pa.Table:
    columns = {"key": pa.array(key, pa.int64()), "bin": pa.array(bin_of, pa.int32())}
    for i, ((low, high), scale) in enumerate(zip(ranges, scales, strict=True)):
        columns |= {f"low{i}": scale.take(pa.array(low)), f"high{i}": scale.take(pa.array(high))}
    return pa.table(columns)
