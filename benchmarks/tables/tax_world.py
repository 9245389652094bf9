"""The country in which the Tax table lives: states, zip codes, cities, area codes, names and tax law.

The columns and their customary meaning are those of the Tax table that Bohannon et al. (ICDE 2007) introduced and
FASTDC, Hydra and BART reuse. Populations and the first three digits of zip codes are roughly the real ones, so that
group sizes are skewed as in life and the north-east has leading zeros. Everything else is drawn from the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]

# state, inhabitants in units of 100,000, first and last three-digit zip prefix
_STATES = """
AL 50 350 369|AK 7 995 999|AZ 72 850 865|AR 30 716 729|CA 395 900 961|CO 58 800 816|CT 36 060 069|DE 10 197 199
DC 7 200 205|FL 215 320 349
GA 107 300 319|HI 15 967 968|ID 18 832 838|IL 128 600 629|IN 68 460 479|IA 32 500 528|KS 29 660 679
KY 45 400 427|LA 47 700 714|ME 14 039 049|MD 62 206 219|MA 70 010 027|MI 101 480 499|MN 57 550 567|MS 30 386 397
MO 62 630 658|MT 11 590 599|NE 20 680 693|NV 31 889 898|NH 14 030 038|NJ 93 070 089|NM 21 870 884|NY 202 100 149
NC 104 270 289|ND 8 580 588|OH 118 430 459|OK 40 730 749|OR 42 970 979|PA 130 150 196|RI 11 028 029|SC 51 290 299
SD 9 570 577|TN 69 370 385|TX 291 750 799|UT 33 840 847|VT 6 050 059|VA 86 220 246|WA 77 980 994|WV 18 247 268
WI 59 530 549|WY 6 820 831
"""
_UNTAXED = frozenset({"AK", "FL", "NV", "NH", "SD", "TN", "TX", "WA", "WY"})
_FLAT = frozenset({"CO", "IL", "IN", "MA", "MI", "NC", "PA", "UT"})

_NOT_NAMES = frozenset({"nan", "inf", "na", "null", "none", "nil"})  # readers of CSV take these for numbers or nothing

ZIPS = 20_000  # in the whole country
CITIES = 6_000  # names; the same name occurs in several states
AREAS = 290
FIRST_NAMES = 3_000
LAST_NAMES = 12_000
BRACKETS = 8  # tax brackets per state, at most
WORLD_STREAM = 1 << 40  # keeps the draws of this module apart from those of the rows


@dataclass(frozen=True, slots=True)
class World:
    """Lookup tables. Indexes: zip, state, area, city and names are positions in the arrays below."""

    state_names: pa.StringArray
    zip_names: pa.StringArray
    city_names: pa.StringArray
    first_names: pa.StringArray
    last_names: pa.StringArray
    zip_state: Ints
    zip_city: Ints
    zip_cumulative: npt.NDArray[np.float64]  # chance that a row lives in a zip code up to this one
    first_cumulative: npt.NDArray[np.float64]
    last_cumulative: npt.NDArray[np.float64]
    first_male: npt.NDArray[np.float64]  # chance that a bearer of this first name is male: mostly 0 or 1
    area_codes: Ints  # the three-digit number of each area, areas of one state next to each other
    area_start: Ints  # per state
    area_count: Ints
    bracket_from: Ints  # state x bracket: lowest salary of the bracket
    bracket_rate: Ints  # state x (bracket + 1): rate in hundredths of a percent, non-decreasing
    single_exemption: Ints  # per state
    married_exemption: Ints
    child_exemption: Ints

    def rates(self, state: Ints, salary: Ints) -> Ints:
        """The lawful rate: a step function of salary in each state."""
        bracket = (salary[:, None] >= self.bracket_from[state]).sum(axis=1)
        return self.bracket_rate[state, bracket]


@lru_cache(maxsize=4)
def world(seed: int) -> World:
    """The country of one seed."""
    rng = np.random.default_rng([seed, WORLD_STREAM])
    rows = [entry.split() for entry in _STATES.replace("\n", "|").split("|") if entry.strip()]
    names = [row[0] for row in rows]
    share = np.array([float(row[1]) for row in rows])
    share /= share.sum()
    zips, zip_state, zip_city, zip_weight = [], [], [], []
    for state, (_, _, low, high) in enumerate(rows):
        room = np.arange(int(low) * 100, (int(high) + 1) * 100)
        number = int(np.clip(share[state] * ZIPS, 20, 0.9 * len(room)))
        zips.append(np.sort(rng.choice(room, number, replace=False)))
        zip_state.append(np.full(number, state))
        towns = rng.choice(CITIES, max(2, number // 3), replace=False)
        zip_city.append(rng.choice(towns, number))
        zip_weight.append(share[state] * _zipf(number, 0.7)[rng.permutation(number)])
    counts = np.maximum(1, np.round(share * AREAS)).astype(np.int64)
    brackets_from, brackets_rate = zip(*(_tax_law(name, rng) for name in names), strict=True)
    gendered = rng.random(FIRST_NAMES)
    return World(
        state_names=pa.array(names),
        zip_names=pa.array([f"{code:05d}" for code in np.concatenate(zips)]),
        city_names=pa.array(_words(CITIES, rng, ("ton", "ville", "field", "burg", " City", " Falls", "ford", ""))),
        first_names=pa.array(_words(FIRST_NAMES, rng, ("a", "o", "n", "el", "ia", ""))),
        last_names=pa.array(_words(LAST_NAMES, rng, ("son", "man", "ez", "ski", "er", ""))),
        zip_state=np.concatenate(zip_state),
        zip_city=np.concatenate(zip_city),
        zip_cumulative=_cumulative(np.concatenate(zip_weight)),
        first_cumulative=_cumulative(_zipf(FIRST_NAMES, 0.8)),
        last_cumulative=_cumulative(_zipf(LAST_NAMES, 0.8)),
        first_male=np.where(gendered < 0.48, 0.0, np.where(gendered < 0.96, 1.0, 0.5)),
        area_codes=np.sort(rng.choice(np.arange(201, 990), int(counts.sum()), replace=False))[
            rng.permutation(int(counts.sum()))
        ],
        area_start=np.concatenate([[0], np.cumsum(counts)[:-1]]),
        area_count=counts,
        bracket_from=np.array(brackets_from),
        bracket_rate=np.array(brackets_rate),
        single_exemption=rng.integers(10, 100, len(names)) * 50,
        married_exemption=rng.integers(20, 200, len(names)) * 50,
        child_exemption=rng.integers(5, 60, len(names)) * 50,
    )


def _tax_law(name: str, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Where each bracket of a state begins and what it pays; unused brackets begin beyond every salary."""
    begins = np.full(BRACKETS, np.iinfo(np.int64).max)
    if name in _UNTAXED:
        return begins, np.zeros(BRACKETS + 1, np.int64)
    if name in _FLAT:
        return begins, np.full(BRACKETS + 1, int(rng.integers(300, 560)))
    used = int(rng.integers(2, BRACKETS + 1))
    begins[:used] = np.sort(rng.choice(np.arange(8, 240), used, replace=False)) * 1_000
    rates = np.sort(rng.choice(np.arange(50, 1_100), used + 1, replace=False))
    return begins, np.concatenate([rates, np.full(BRACKETS - used, rates[-1])])


def _words(number: int, rng: np.random.Generator, endings: tuple[str, ...]) -> list[str]:
    """Different pronounceable names, in no particular order."""
    consonants = ("B", "Br", "C", "D", "F", "G", "H", "J", "K", "L", "M", "N", "P", "R", "S", "St", "T", "V", "W")
    starts = [a + b for a in consonants for b in "aeiou"]
    middles = [a + b for a in ("l", "n", "r", "t", "ck", "d", "m", "s") for b in ("a", "e", "i", "o", "")]
    everything = len(starts) * len(middles) * len(endings)
    picks = rng.choice(everything, min(everything, 2 * number), replace=False)
    seen: dict[str, None] = {}
    for pick in picks:
        rest, ending = divmod(int(pick), len(endings))
        start, middle = divmod(rest, len(middles))
        word = starts[start] + middles[middle] + endings[ending]
        if word.casefold() not in _NOT_NAMES:
            seen.setdefault(word)
    if len(seen) < number:
        raise ValueError(f"only {len(seen)} of {number} names can be made")
    return list(seen)[:number]


def _zipf(number: int, exponent: float) -> npt.NDArray[np.float64]:
    weights = np.arange(1, number + 1, dtype=np.float64) ** -exponent
    return weights / weights.sum()


def _cumulative(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    total = np.cumsum(weights)
    total /= total[-1]
    return total
