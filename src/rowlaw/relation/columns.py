"""One column's way from values to ordered codes, in two steps.

*Local*: each split numbers its own distinct values in the order it meets them. *Merged*: the distinct values of all
splits are sorted once, and each split's numbers are looked up in that order. Only distinct values are ever sorted or
compared, and no value is hashed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.kernels.text import sort_texts
from rowlaw.source.infer import converted, typed
from rowlaw.source.types import storage_type

FIRST_ROWS = 1 << 14  # that tell whether a column is hashed or sorted
# of the first rows: beyond it, some 400,000 values, sorting is quicker than hashing and takes half the memory
MANY_DIFFERENT = 0.98
NULL = -1  # the code of null and NaN: below every value, so that "null sorts first" needs no case of its own


@dataclass(frozen=True, slots=True)
class LocalColumn:
    """A column of one split: ``values[codes[i]]`` is the value of row i, and -1 is null."""

    codes: np.ndarray
    values: pa.Array


def local_column(column: pa.ChunkedArray) -> LocalColumn:
    """Number the distinct values of a column of one split."""
    storage = storage_type(column.type)
    if len(column) == 0:
        return LocalColumn(np.zeros(0, np.int32), pa.array([], storage))
    if pa.types.is_dictionary(column.type):
        return _from_dictionary(_one_chunk(column.unify_dictionaries()), storage)
    if column.type != storage:
        column = column.cast(storage)
    if pa.types.is_floating(storage):
        column = _plain_floats(column)
    encoded = _one_chunk(column.dictionary_encode())
    return LocalColumn(_indices(encoded.indices), encoded.dictionary)


def ordered_column(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values of a column in order, and the code of each row (int32, -1 is null).

    Numbers of which most are different are sorted at once: Arrow's hash table of a million of them takes 200 MB, their
    order 25.
    """
    if _mostly_different(column):
        whole = _one_chunk(column.cast(storage_type(column.type)))
        return _ranked(
            _one_chunk(_plain_floats(pa.chunked_array([whole]))) if pa.types.is_floating(whole.type) else whole
        )
    local = local_column(column)
    merged = merge([local.values], None, infer=False)
    return merged.values, np.take(merged.maps[0], local.codes, mode="wrap")  # -1 wraps to the null at the end


def _mostly_different(column: pa.ChunkedArray) -> bool:
    """Return whether a column has numbers, dates or timestamps of which, by its first rows, few occur twice."""
    dtype = column.type
    fixed = (
        pa.types.is_integer(dtype)
        or pa.types.is_floating(dtype)
        or pa.types.is_date32(dtype)
        or pa.types.is_timestamp(dtype)
    )
    if not fixed or len(column) < FIRST_ROWS:
        return False
    return pc.count_distinct(column.slice(0, FIRST_ROWS)).as_py() > MANY_DIFFERENT * FIRST_ROWS


def _from_dictionary(column: pa.DictionaryArray, storage: pa.DataType) -> LocalColumn:
    codes, values = _indices(column.indices), column.dictionary.cast(storage)
    if values.null_count == 0 and _distinct(values, codes):
        return LocalColumn(codes, values)
    # a foreign dictionary: it may hold nulls, repetitions and values that no row has
    inner = local_column(pa.chunked_array([values]))
    return _used(np.append(inner.codes, np.int32(NULL))[codes], inner.values)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks() if column.num_chunks > 1 else column.chunk(0)
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _indices(indices: pa.Array) -> np.ndarray:
    filled = indices.fill_null(NULL) if indices.null_count else indices
    return filled.cast(pa.int32()).to_numpy(zero_copy_only=False)


def _plain_floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NaN is null, and the two zeros are one."""
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    return pc.add(column, pa.scalar(0.0))


def _distinct(values: pa.Array, codes: np.ndarray) -> bool:
    """Return whether every value occurs once in the dictionary and at least once in the rows, as Parquet's own do."""
    if pa.types.is_floating(values.type) or len(values) > len(codes):
        return False
    seen = np.zeros(len(values) + 1, bool)
    seen[codes] = True
    return bool(seen[:-1].all()) and pc.count_distinct(values).as_py() == len(values)


def _used(codes: np.ndarray, values: pa.Array) -> LocalColumn:
    seen = np.zeros(len(values) + 1, bool)
    seen[codes] = True
    renumbered = np.append(np.cumsum(seen[:-1]) - 1, NULL).astype(np.int32)
    return LocalColumn(renumbered[codes], values.filter(pa.array(seen[:-1])))


@dataclass(frozen=True, slots=True)
class MergedColumn:
    """All distinct values in order, and for each split the map from its local codes to ordered ones."""

    values: pa.Array
    maps: tuple[np.ndarray, ...]  # each ends with -1, which is where the local code -1 looks


def merge(parts: Sequence[pa.Array], wanted: pa.DataType | None, infer: bool, *, zones: bool = True) -> MergedColumn:
    """Merge the distinct values of all splits of a column; texts get the type they have (``infer``) or are ``wanted``
    to have.

    ``zones``: whether texts that are wanted as timestamps may have a zone.
    """
    sizes = [len(part) for part in parts]
    values = pa.concat_arrays(parts) if len(parts) != 1 else parts[0]
    numbers: np.ndarray | None = None  # where each value of `parts` is found in `values`
    if len(parts) > 1:
        encoded = values.dictionary_encode()
        numbers, values = encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary
    if infer:
        values = typed(values, wanted, zones=zones)
    elif wanted is not None:
        values = (
            typed(values, wanted, zones=zones) if pa.types.is_large_string(values.type) else converted(values, wanted)
        )
    if pa.types.is_floating(values.type):
        values = _plain_floats(pa.chunked_array([values])).combine_chunks()
    ordered, ranks = _ranked(values)
    codes = ranks if numbers is None else ranks[numbers]
    bounds = np.cumsum([0, *sizes])
    maps = tuple(np.append(codes[a:b], np.int32(NULL)) for a, b in pairwise(bounds))
    return MergedColumn(ordered, maps)


def _ranked(values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values in order, and the rank of each given value (-1 for null). Values may repeat: "1" and
    "1.0"."""
    if pa.types.is_large_string(values.type):
        if values.null_count == 0:  # texts are distinct already
            order = _text_order(values)
            ranks = np.empty(len(values), np.int32)
            ranks[order] = np.arange(len(values), dtype=np.int32)
            return values.take(pa.array(order)), ranks
    elif not pa.types.is_decimal(values.type) and not pa.types.is_boolean(values.type):
        return _ranked_numbers(values)
    order_all = pc.sort_indices(values).to_numpy()  # nulls last
    kept = order_all[: len(values) - values.null_count]
    in_order = values.take(pa.array(kept))
    new = np.ones(len(kept), bool)
    if len(kept) > 1:
        new[1:] = pc.not_equal(in_order.slice(1), in_order.slice(0, len(kept) - 1)).to_numpy(zero_copy_only=False)
    ranks = np.full(len(values), NULL, np.int32)
    ranks[kept] = np.cumsum(new) - 1
    return in_order.filter(pa.array(new)), ranks


def _ranked_numbers(values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    real = values.drop_null()
    plain = (
        real.view(pa.int32())
        if pa.types.is_date32(values.type)
        else real.view(pa.int64())
        if pa.types.is_timestamp(values.type)
        else real
    )
    numbers = plain.to_numpy(zero_copy_only=False)
    order = np.argsort(numbers)
    in_order = numbers[order]
    new = np.ones(len(numbers), bool)
    new[1:] = in_order[1:] != in_order[:-1]
    inverse = np.empty(len(numbers), np.int32)
    inverse[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    distinct = pa.array(in_order[new], plain.type).view(values.type)
    if real is values or values.null_count == 0:
        return distinct, inverse
    ranks = np.full(len(values), NULL, np.int32)
    ranks[values.is_valid().to_numpy(zero_copy_only=False)] = inverse
    return distinct, ranks


def _text_order(values: pa.Array) -> np.ndarray:
    if len(values) == 0:
        return np.zeros(0, np.int64)
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return sort_texts(np.frombuffer(data, np.uint8) if data is not None else np.zeros(1, np.uint8), bounds)
