"""Errors planted in the Tax table: which rules they break and how a cell is damaged.

Each damaged row has a *partner*, a row of the same group that stays intact, so every damaged cell breaks its own rule
at least once. A damaged ``State`` breaks other rules as well: the truth counts them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.tables.tax_rows import BLOCK, CHILD, MARITAL, Codes, block_sizes, occurrence
from benchmarks.tables.tax_world import Ints, World, world

KEY = "key (AreaCode, Phone)"
ZIP_CITY = "fd (Zip) -> City"
ZIP_STATE = "fd (Zip) -> State"
AREA_STATE = "fd (AreaCode) -> State"
CHILD_EXEMPTION = "fd (State, HasChild) -> ChildExemp"
SINGLE_EXEMPTION = "fd (State, MaritalStatus) -> SingleExemp"
RATE_ORDER = "od {State}: Rate ~ Salary"
RULES = (KEY, ZIP_CITY, ZIP_STATE, AREA_STATE, CHILD_EXEMPTION, SINGLE_EXEMPTION, RATE_ORDER)

_DAMAGE_STREAM = 3
_SPREAD_STREAM = 4


@dataclass(frozen=True, slots=True)
class Cells:
    """Damaged cells of one column, in codes; ``row`` counts from the beginning of the table."""

    rule: str
    column: str
    row: Ints
    old: Ints
    new: Ints


# (world, codes, rows, partners, rng) -> new codes
Make = Callable[[World, Codes, Ints, Ints, np.random.Generator], Ints]


@dataclass(frozen=True, slots=True)
class Damage:
    """How a rule is broken: rows that agree on ``group`` are partners, ``column`` gets a new value."""

    group: tuple[str, ...]
    column: str
    new: Make
    possible: Callable[[Codes, Ints, Ints], npt.NDArray[np.bool_]] | None = None


def _partners_phone(_: World, codes: Codes, __: Ints, partners: Ints, ___: np.random.Generator) -> Ints:
    return codes["Phone"][partners]


def _another_city(land: World, codes: Codes, rows: Ints, _: Ints, rng: np.random.Generator) -> Ints:
    number = len(land.city_names)
    return (codes["City"][rows] + rng.integers(1, number, len(rows))) % number


def _another_state(land: World, codes: Codes, rows: Ints, _: Ints, rng: np.random.Generator) -> Ints:
    number = len(land.state_names)
    return (codes["State"][rows] + rng.integers(1, number, len(rows))) % number


def _partners_area(_: World, codes: Codes, __: Ints, partners: Ints, ___: np.random.Generator) -> Ints:
    return codes["AreaCode"][partners]


def _another_states(codes: Codes, rows: Ints, partners: Ints) -> npt.NDArray[np.bool_]:
    return codes["State"][partners] != codes["State"][rows]


def _more(column: str) -> Make:
    def new(_: World, codes: Codes, rows: Ints, __: Ints, rng: np.random.Generator) -> Ints:
        return codes[column][rows] + 50 * rng.integers(1, 41, len(rows))

    return new


def _unjust_rate(_: World, codes: Codes, rows: Ints, partners: Ints, rng: np.random.Generator) -> Ints:
    """More than a richer partner pays, or less than a poorer one."""
    fair = codes["Rate"][partners]
    richer = codes["Salary"][partners] > codes["Salary"][rows]
    return np.where(richer, fair + 25 * rng.integers(1, 13, len(rows)), fair * rng.integers(0, 4, len(rows)) // 4)


def _rate_can_be_unjust(codes: Codes, rows: Ints, partners: Ints) -> npt.NDArray[np.bool_]:
    difference = codes["Salary"][partners] - codes["Salary"][rows]
    return (difference > 0) | ((difference < 0) & (codes["Rate"][partners] > 0))


DAMAGE: Mapping[str, Damage] = {
    KEY: Damage(("AreaCode",), "Phone", _partners_phone),
    ZIP_CITY: Damage(("Zip",), "City", _another_city),
    ZIP_STATE: Damage(("Zip",), "State", _another_state),
    AREA_STATE: Damage((), "AreaCode", _partners_area, _another_states),
    CHILD_EXEMPTION: Damage(("State", "HasChild"), "ChildExemp", _more("ChildExemp")),
    SINGLE_EXEMPTION: Damage(("State", "MaritalStatus"), "SingleExemp", _more("SingleExemp")),
    RATE_ORDER: Damage(("State",), "Rate", _unjust_rate, _rate_can_be_unjust),
}


def wanted(errors: Mapping[str, int] | int) -> dict[str, int]:
    """Errors per rule; one number means that many for each rule."""
    if isinstance(errors, int):
        errors = dict.fromkeys(RULES, errors)
    unknown = sorted(set(errors) - set(RULES))
    if unknown:
        raise ValueError(f"not a planted rule: {unknown[0]!r}; the rules are {', '.join(RULES)}")
    if min(errors.values(), default=0) < 0:
        raise ValueError("the number of errors must not be negative")
    return {rule: errors[rule] for rule in RULES if errors.get(rule)}


def spread(rows: int, seed: int, errors: Mapping[str, int]) -> list[dict[str, int]]:
    """How many errors of each rule every block gets. A last block of less than half the size gets none, unless it is
    the only one."""
    sizes = block_sizes(rows)
    weights = [size if size >= BLOCK // 2 or len(sizes) == 1 else 0 for size in sizes]
    plan: list[dict[str, int]] = [{} for _ in sizes]
    for rule, number in errors.items():
        if number > sum(weights):
            raise ValueError(f"{number:,} errors for {rule!r} do not fit in {rows:,} rows")
        rng = np.random.default_rng([seed, rows, _SPREAD_STREAM, RULES.index(rule)])
        for block, share in enumerate(rng.multivariate_hypergeometric(weights, number, method="marginals")):
            if share:
                plan[block][rule] = int(share)
    return plan


def damage_block(codes: Codes, seed: int, block: int, errors: Mapping[str, int]) -> list[Cells]:
    """Plant the errors of one block in ``codes`` (in place) and list them."""
    land = world(seed)
    size = len(codes["Zip"])
    taken = np.zeros(size, np.bool_)
    planted = []
    # every choice is made on clean values, so columns are written only after the last rule has chosen
    for rule, number in errors.items():
        how = DAMAGE[rule]
        rng = np.random.default_rng([seed, block, _DAMAGE_STREAM, RULES.index(rule), number])
        nth, previous = occurrence(_group(codes, how.group))
        rows = np.flatnonzero((nth % 2 == 1) & ~taken & ~taken[previous])
        if how.possible is not None:
            rows = rows[how.possible(codes, rows, previous[rows])]
        if len(rows) < number:
            raise ValueError(
                f"{number:,} errors for {rule!r} do not fit: {len(rows):,} of {size:,} rows have an intact partner"
            )
        rows = np.sort(rng.choice(rows, number, replace=False))
        partners = previous[rows]
        taken[rows] = taken[partners] = True
        new = how.new(land, codes, rows, partners, rng)
        planted.append(Cells(rule, how.column, rows, codes[how.column][rows], new))
    for cells in planted:
        codes[cells.column] = codes[cells.column].copy()
        codes[cells.column][cells.row] = cells.new
    return [Cells(c.rule, c.column, c.row + block * BLOCK, c.old, c.new) for c in planted]


def _group(codes: Codes, columns: tuple[str, ...]) -> Ints:
    """One number per combination of values; only the two-valued columns stand second. No columns: one group of all
    rows."""
    group = np.zeros(len(codes["Zip"]), np.int64)
    for column in columns:
        group = group * max(len(CHILD), len(MARITAL)) + codes[column]
    return group
