"""Clean rows of the Tax table, block by block, as integer codes.

A block is always drawn whole from its own random streams and cut to the table's length, so a row depends on the seed
and its position only: not on how the table is chunked when it is written, and a shorter table is the beginning of a
longer one.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.tables.tax_world import Ints, World, world

Codes: TypeAlias = dict[str, Ints]

BLOCK = 1 << 16
PHONES = 10**7  # seven digits
PHONES_PER_BLOCK = 2048  # numbers set aside for one area in one block, ten times what the largest area uses
MAX_ROWS = PHONES // PHONES_PER_BLOCK * BLOCK
NUMBERINGS = 150  # sequences of numbers; about two areas share one, so that Phone alone is no key even in a small table
AREAS_AT_MOST = 1_000  # three digits
_STRIDE = 7_368_787  # coprime to PHONES, so that multiplying by it permutes the numbers
GENDERS, MARITAL, CHILD = ("F", "M"), ("S", "M"), ("N", "Y")

SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("FName", "LName", "Gender")]
    + [("AreaCode", pa.int32())]
    + [(name, pa.string()) for name in ("Phone", "City", "State", "Zip", "MaritalStatus", "HasChild")]
    + [("Salary", pa.int32()), ("Rate", pa.float64())]
    + [(name, pa.int32()) for name in ("SingleExemp", "MarriedExemp", "ChildExemp")]
)


def block_sizes(rows: int) -> list[int]:
    """How many rows of each block belong to a table of that length."""
    if not 0 <= rows <= MAX_ROWS:
        raise ValueError(
            f"rows must be between 0 and {MAX_ROWS:,}, not {rows:,}: beyond that the phone numbers run out"
        )
    return [min(BLOCK, rows - start) for start in range(0, rows, BLOCK)]


def _draws(seed: int, block: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([seed, block, stream])


def _places(land: World, seed: int, block: int) -> tuple[Ints, Ints]:
    """Zip code and area of every row of a whole block."""
    rng = _draws(seed, block, 0)
    zips = np.searchsorted(land.zip_cumulative, rng.random(BLOCK), side="right")
    state = land.zip_state[zips]
    return zips, land.area_start[state] + (rng.random(BLOCK) * land.area_count[state]).astype(np.int64)


def _phones(area: Ints, seed: int, block: int) -> Ints:
    """A number that no other row of the same area has, though rows of other areas may."""
    nth = occurrence(area)[0]
    if nth.max() >= PHONES_PER_BLOCK:
        raise AssertionError("more rows in one area than phone numbers were set aside")
    rng = np.random.default_rng([seed, 1])
    offsets = rng.integers(0, PHONES, NUMBERINGS)[rng.integers(0, NUMBERINGS, AREAS_AT_MOST)]
    return ((block * PHONES_PER_BLOCK + nth) * _STRIDE + offsets[area]) % PHONES


def occurrence(group: Ints) -> tuple[Ints, Ints]:
    """For each row: how many earlier rows have its value, and which is the last of them (itself when there is none).

    >>> [a.tolist() for a in occurrence(np.array([7, 5, 7, 7]))]
    [[0, 0, 1, 2], [0, 1, 0, 2]]
    """
    order = np.argsort(group, kind="stable")
    ranked = group[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    starts = np.maximum.accumulate(np.where(first, np.arange(len(group)), 0))
    nth, previous = np.empty(len(group), np.int64), np.empty(len(group), np.int64)
    nth[order] = np.arange(len(group)) - starts
    previous[order] = np.where(first, order, np.concatenate([order[:1], order[:-1]]))
    return nth, previous


def phone_keys(seed: int, block: int, size: int) -> Ints:
    """The clean (AreaCode, Phone) of a block as one number each."""
    land = world(seed)
    _, area = _places(land, seed, block)
    return (land.area_codes[area] * PHONES + _phones(area, seed, block))[:size]


def clean_block(seed: int, block: int, size: int) -> Codes:
    """The first ``size`` rows of a block, in which every planted rule holds."""
    land = world(seed)
    zips, area = _places(land, seed, block)
    state = land.zip_state[zips]
    people, money = _draws(seed, block, 1), _draws(seed, block, 2)
    first = np.searchsorted(land.first_cumulative, people.random(BLOCK), side="right")
    last = np.searchsorted(land.last_cumulative, people.random(BLOCK), side="right")
    married = (people.random(BLOCK) < 0.52).astype(np.int64)
    child = (people.random(BLOCK) < np.where(married, 0.6, 0.2)).astype(np.int64)
    salary = np.clip(np.round(money.lognormal(10.8, 0.65, BLOCK) / 100).astype(np.int64) * 100, 5_000, 500_000)
    codes = {
        "FName": first,
        "LName": last,
        "Gender": (people.random(BLOCK) < land.first_male[first]).astype(np.int64),
        "AreaCode": land.area_codes[area],
        "Phone": _phones(area, seed, block),
        "City": land.zip_city[zips],
        "State": state,
        "Zip": zips,
        "MaritalStatus": married,
        "HasChild": child,
        "Salary": salary,
        "Rate": land.rates(state, salary),
        "SingleExemp": np.where(married == 0, land.single_exemption[state], 0),
        "MarriedExemp": np.where(married == 1, land.married_exemption[state], 0),
        "ChildExemp": np.where(child == 1, land.child_exemption[state], 0),
    }
    return {name: column[:size] for name, column in codes.items()}


def column_to_arrow(name: str, codes: Ints, seed: int) -> pa.Array:
    """The values that codes of a column stand for."""
    land = world(seed)
    names = {
        "FName": land.first_names,
        "LName": land.last_names,
        "City": land.city_names,
        "State": land.state_names,
        "Zip": land.zip_names,
        "Gender": pa.array(GENDERS),
        "MaritalStatus": pa.array(MARITAL),
        "HasChild": pa.array(CHILD),
    }
    if name in names:
        return names[name].take(pa.array(codes))
    if name == "Phone":
        return _phone_text(codes)
    if name == "Rate":
        return pa.array(codes / 100.0)
    return pa.array(codes.astype(np.int32))


def _phone_text(phones: npt.NDArray[np.int64]) -> pa.StringArray:
    """``ddd-dddd`` for each number, written straight into an Arrow buffer."""
    text = np.empty((len(phones), 8), np.uint8)
    rest = phones.copy()
    for place in (7, 6, 5, 4, 2, 1, 0):
        text[:, place] = rest % 10 + ord("0")
        rest //= 10
    text[:, 3] = ord("-")
    offsets = np.arange(0, 8 * len(phones) + 1, 8, dtype=np.int32)
    return pa.StringArray.from_buffers(len(phones), pa.py_buffer(offsets), pa.py_buffer(text))


def to_batch(codes: Codes, seed: int) -> pa.RecordBatch:
    """A block as Arrow."""
    return pa.record_batch([column_to_arrow(name, codes[name], seed) for name in SCHEMA.names], schema=SCHEMA)
