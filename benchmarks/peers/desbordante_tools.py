"""Desbordante's algorithms, with loading apart from the work: ``load(...)``, then one of the functions on what it gave.

Learnt by trying version 2.5:

- ``load_data(table=...)`` takes ``(path, separator, has_header)`` or a pandas frame, no Arrow table; options go to
  ``execute(...)``.
- Types are inferred from text even for a frame: zip codes ``"01"`` and ``"1"`` are the same number to it, and a text
  column in which one value is ``Nan`` or ``Inf`` is of mixed type: the verifier fails on rules with it, and then on
  every later call of the same object.
- FastADC refuses a ``shard_length`` (350 unless told) above the number of rows, and fails on a null cell.
- The verifier reports each unordered pair once, in no particular order, with rows numbered from 2 as the lines of a
  file; a rule with an unknown column or broken syntax "does not hold" and has no violations: ``verify`` refuses both.
- Fastod lists each order compatibility twice, once per side, with columns numbered from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import desbordante
import pandas as pd

Kind = Literal["verify", "fastadc", "fastod", "hyfd", "hpivalid", "hyucc"]
Predicate = tuple[str, str, str]
SHARD_LENGTH = 350
FIRST_ROW = 2  # the header is line 1
_ALGORITHMS = {
    "verify": desbordante.dc_verification.algorithms.DCVerification,
    "fastadc": desbordante.dc.algorithms.FastADC,
    "fastod": desbordante.od.algorithms.Fastod,
    "hyfd": desbordante.fd.algorithms.HyFD,
    "hpivalid": desbordante.ucc.algorithms.HPIValid,
    "hyucc": desbordante.ucc.algorithms.HyUCC,
}
_OPERATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_PREDICATE = re.compile(r"([st])\.(.+?) (==|!=|<=|>=|<|>) ([st])\.(.+)")
_ORDER = re.compile(r"\{([\d,]*)\} : (\d+)(<=|>=) ~ (\d+)(<=|>=)")
_CONSTANT = re.compile(r"\{([\d,]*)\} : \[\] -> (\d+)")


@dataclass(frozen=True, slots=True)
class Loaded:
    """An algorithm with its table."""

    algorithm: Any
    rows: int
    columns: tuple[str, ...]


def load(kind: Kind, table: Path | pd.DataFrame) -> Loaded:
    """Read a CSV file with a header, or take a frame."""
    algorithm = _ALGORITHMS[kind]()
    if isinstance(table, pd.DataFrame):
        algorithm.load_data(table=table)
        return Loaded(algorithm, len(table), tuple(map(str, table.columns)))
    algorithm.load_data(table=(str(table), ",", True))
    with table.open(encoding="utf-8") as lines:
        columns = tuple(name.strip('"') for name in next(lines).rstrip("\r\n").split(","))
        return Loaded(algorithm, sum(1 for _ in lines), columns)


def fastadc(
    loaded: Loaded,
    *,
    error: float = 0.0,
    cross: bool = False,
    overlap: float = 0.3,
    comparable: float = 0.1,
    threads: int = 2,
) -> frozenset[frozenset[Predicate]]:
    """Minimal denial constraints.

    ``error`` is the share of pairs that may violate one; ``overlap`` and ``comparable`` say which cross-column
    predicates there are.
    """
    loaded.algorithm.execute(
        evidence_threshold=error,
        allow_cross_columns=cross,
        minimum_shared_value=overlap,
        comparable_threshold=comparable,
        shard_length=min(SHARD_LENGTH, loaded.rows),
        threads=threads,
    )
    return frozenset(parse_dc(str(rule)) for rule in loaded.algorithm.get_dcs())


def parse_dc(text: str) -> frozenset[Predicate]:
    """``¬{ t.a >= s.a ∧ t.b != s.b }`` as predicates, the operand of ``s`` first unless both are of one row.

    >>> sorted(parse_dc("¬{ t.a >= s.a ∧ t.b == s.c }"))
    [('s.a', '<=', 't.a'), ('s.c', '=', 't.b')]
    """
    found = set()
    swapped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    for part in text.removeprefix("¬{").removesuffix("}").split("∧"):
        match = _PREDICATE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"cannot read {part.strip()!r} in {text!r}")
        row, name, op, other, another = match.groups()
        if (row, other) == ("t", "s"):
            row, name, op, other, another = other, another, swapped.get(op, op), row, name
        found.add((f"{row}.{name}", "=" if op == "==" else op, f"{other}.{another}"))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Orders:
    """What Fastod finds, each once: columns numbered from 0, context first, the two sides of a compatibility as a
    set."""

    constant: frozenset[tuple[frozenset[int], int]]
    ascending: frozenset[tuple[frozenset[int], frozenset[int]]]
    descending: frozenset[tuple[frozenset[int], frozenset[int]]]

    @property
    def compatible(self) -> int:
        return len(self.ascending) + len(self.descending)


def fastod(loaded: Loaded) -> Orders:
    """Set-based order dependencies."""
    loaded.algorithm.execute()
    return Orders(
        frozenset((context, side) for context, side in map(_constant, loaded.algorithm.get_simple_ods())),
        frozenset(map(_order, loaded.algorithm.get_asc_ods())),
        frozenset(map(_order, loaded.algorithm.get_desc_ods())),
    )


def hyfd(loaded: Loaded, threads: int = 2) -> frozenset[tuple[frozenset[int], int]]:
    """Minimal functional dependencies: left sides and right side, columns numbered from 0."""
    loaded.algorithm.execute(threads=threads)
    return frozenset(
        (frozenset(left), right) for left, right in (fd.to_index_tuple() for fd in loaded.algorithm.get_fds())
    )


def hpivalid(loaded: Loaded) -> frozenset[frozenset[int]]:
    """Minimal keys, columns numbered from 0."""
    loaded.algorithm.execute()
    return frozenset(frozenset(ucc.indices) for ucc in loaded.algorithm.get_uccs())


def hyucc(loaded: Loaded, threads: int = 2) -> frozenset[frozenset[int]]:
    """Minimal keys by another algorithm."""
    loaded.algorithm.execute(threads=threads)
    return frozenset(frozenset(ucc.indices) for ucc in loaded.algorithm.get_uccs())


def verify(
    loaded: Loaded, predicates: Iterable[Predicate], *, collect: bool = True
) -> frozenset[tuple[int, int]] | bool:
    """Violating pairs of a rule, each unordered pair once as (lower row, higher row), rows from 0.

    With ``collect=False`` only whether the rule holds.
    """
    known = list(predicates)
    for side in (operand for left, _, right in known for operand in (left, right)):
        if side[:2] not in ("s.", "t.") or side[2:] not in loaded.columns:
            raise ValueError(f"no column {side!r}: Desbordante would report a broken rule without violations")
    rule = "!(" + " and ".join(f"{left} {_OPERATORS[op]} {right}" for left, op, right in known) + ")"
    loaded.algorithm.execute(denial_constraint=rule, do_collect_violations=collect)
    holds: bool = loaded.algorithm.dc_holds()
    if not collect:
        return holds
    pairs = frozenset((min(pair) - FIRST_ROW, max(pair) - FIRST_ROW) for pair in loaded.algorithm.get_violations())
    if holds == bool(pairs):
        raise ValueError(f"Desbordante could not read {rule!r}")
    return pairs


def count_pairs(loaded: Loaded, predicates: Iterable[Predicate]) -> int:
    """Violating ordered pairs, by the verifier: twice what it reports for a rule that says the same of both orders.

    A rule that has another meaning in the other order must not hold in both (as with a strict inequality on one
    column), for then the verifier's pairs would not tell which order it saw.
    """
    known = list(predicates)
    found = verify(loaded, known)
    assert isinstance(found, frozenset)
    symmetric = all(op in ("=", "!=") and left[2:] == right[2:] for left, op, right in known)
    if not symmetric and not any(op in ("<", ">") and left[2:] == right[2:] for left, op, right in known):
        raise ValueError("whether a pair violates the rule in one order or in both cannot be told")
    return 2 * len(found) if symmetric else len(found)


def _columns(text: str) -> frozenset[int]:
    return frozenset(int(column) - 1 for column in text.split(",") if column)


def _constant(od: Any) -> tuple[frozenset[int], int]:
    match = _CONSTANT.match(str(od))
    if match is None:
        raise ValueError(f"cannot read {od}")
    return _columns(match.group(1)), int(match.group(2)) - 1


def _order(od: Any) -> tuple[frozenset[int], frozenset[int]]:
    match = _ORDER.fullmatch(str(od))
    if match is None:
        raise ValueError(f"cannot read {od}")
    return _columns(match.group(1)), frozenset({int(match.group(2)) - 1, int(match.group(4)) - 1})
