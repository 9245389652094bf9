"""What a check found: counts, rows and clashing pairs. Small things at once, large ones as lazy Spark frames."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from rowlaw.engine.engine import Engine, Found
from rowlaw.errors import RowlawError, nearest
from rowlaw.rules import NamedRule
from rowlaw.rules.model import FunctionalDependency, Rule, about_single_rows
from rowlaw.rules.notebook import SHOWN, Code, notebook_table
from rowlaw.violations.clashes import Clashes, plain, write
from rowlaw.violations.sides import Clash, side_by_side

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

BROKEN = 1  # exit code: a rule of severity error is broken
SAMPLE = 5  # clashes shown per rule

Status = Literal["holds", "tolerated", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one rule."""

    named: NamedRule
    rule: Rule  # as bound to the table
    found: Found
    table_rows: int

    @property
    def id(self) -> str:
        return self.named.id

    @property
    def violations(self) -> int:
        """Ordered pairs of rows that break the rule (rows, if it speaks of single rows)."""
        return self.found.pairs

    @property
    def rows(self) -> int:
        """Rows that take part in a violation."""
        return len(self.found.rows)

    @property
    def error(self) -> float:
        """Violations as a share of all ordered pairs (of all rows, if the rule speaks of single rows)."""
        n = self.table_rows
        return self.violations / (n if about_single_rows(self.rule) else n * (n - 1)) if self.violations else 0.0

    @property
    def broken(self) -> bool:
        return self.error > self.named.tolerate

    @property
    def status(self) -> Status:
        """The verdict in a word. A breach of a rule of severity warn is a warning."""
        if not self.violations:
            return "holds"
        if not self.broken:
            return "tolerated"
        return "broken" if self.named.severity == "error" else "warning"

    def __str__(self) -> str:
        if not self.violations:
            return f"{self.id}: holds"
        what = "within what is tolerated" if not self.broken else "broken"
        return f"{self.id}: {what}, {self.violations:,} violations in {self.rows:,} rows"


class Result:
    """The outcome of :func:`rowlaw.check`. Keeps the encoded table until it is closed or forgotten."""

    def __init__(self, engine: Engine, verdicts: Sequence[Verdict], seconds: Mapping[str, float]) -> None:
        self.engine = engine
        self.verdicts = tuple(verdicts)
        self.seconds = dict(seconds)
        self._by_id = {verdict.id: verdict for verdict in self.verdicts}

    @property
    def table_rows(self) -> int:
        """Rows of the table."""
        return self.engine.relation.rows

    @property
    def counts(self) -> dict[str, int]:
        """For each rule the exact number of violating ordered pairs (rows, for rules about single rows)."""
        return {verdict.id: verdict.violations for verdict in self.verdicts}

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """Verdicts on the rules that are broken beyond what they tolerate."""
        return tuple(verdict for verdict in self.verdicts if verdict.broken)

    @property
    def exit_code(self) -> int:
        return BROKEN if any(verdict.named.severity == "error" for verdict in self.broken) else 0

    def __getitem__(self, id: str) -> Verdict:
        if id not in self._by_id:
            raise RowlawError("UNKNOWN_RULE", id=id, hint=nearest(id, self._by_id))
        return self._by_id[id]

    def __repr__(self) -> str:
        lines = [f"  {verdict}" for verdict in self.verdicts[:20]]
        more = [f"  ... and {len(self.verdicts) - 20:,} more"] if len(self.verdicts) > 20 else []
        return "\n".join([f"Result: {len(self.broken)} of {len(self.verdicts)} rules broken, {self.table_rows:,} rows", *lines, *more])

    def _repr_html_(self) -> str:
        """What a notebook shows: verdicts that are known already, those on broken rules first."""
        ordered = sorted(self.verdicts, key=lambda v: -v.violations)
        caption = f"{len(self.broken):,} of {len(self.verdicts):,} rules broken, {self.table_rows:,} rows"
        rows = [
            [v.id, "holds" if not v.violations else "broken" if v.broken else "tolerated", f"{v.violations:,}", f"{v.rows:,}", Code(v.rule)]
            for v in ordered[:SHOWN]
        ]
        return notebook_table(caption, ["rule", "verdict", "violations", "rows", "law"], rows, len(ordered) - SHOWN)

    def clashes(self, id: str, limit: int = SAMPLE) -> pa.Table:
        """Up to ``limit`` violations of a rule with the compared values side by side, those of the worst rows first."""
        return self._clashes(id).first(limit)

    def side_by_side(self, id: str, limit: int = SAMPLE) -> list[Clash]:
        """The same violations as comparisons: the values of the two rows beside each other, and where they clash."""
        clashes = self._clashes(id)
        return side_by_side(clashes, *clashes.worst(limit))

    def pairs(self, id: str) -> Iterator[pa.RecordBatch]:
        """All violations of a rule, batch by batch, with the compared values side by side; never all in memory."""
        return self._clashes(id).batches()

    def violations(self, id: str, session: SparkSession | None = None) -> DataFrame:
        """All violations of a rule as a lazy Spark DataFrame: ``s_row``, ``t_row`` and the values compared."""
        return self._clashes(id).frame(session)

    @cached_property
    def rows(self) -> DataFrame:
        """The rows that take part in violations, as a Spark DataFrame: ``row``, ``rule``, ``pairs`` (in how many), worst first."""
        from rowlaw.spark.session import session

        spark = session()
        tables = []
        for verdict in self.verdicts:
            labels = self.engine.relation.row_labels(verdict.found.rows)
            tables.append(pa.table({"row": labels, "rule": pa.array([verdict.id] * len(labels)), "pairs": verdict.found.per_row}))
        whole = (
            pa.concat_tables(tables)
            if tables
            else pa.table({"row": pa.array([], pa.int64()), "rule": pa.array([], pa.string()), "pairs": pa.array([], pa.int64())})
        )
        return spark.createDataFrame(plain(whole)).orderBy("pairs", ascending=False)

    def worst(self, limit: int = 10) -> list[tuple[Any, int]]:
        """The rows in most violations over all rules: ``(row, pairs)``, worst first."""
        tally = np.zeros(self.table_rows, np.int64)
        for verdict in self.verdicts:
            tally[verdict.found.rows] += verdict.found.per_row
        some = np.argpartition(-tally, min(limit, len(tally) - 1))[:limit] if limit < len(tally) else np.arange(len(tally))
        chosen = [row for row in sorted(some, key=lambda row: (-tally[row], row)) if tally[row]]
        labels = self.engine.relation.row_labels(np.array(chosen, np.int64)).to_pylist()
        return [(label, int(tally[row])) for label, row in zip(labels, chosen, strict=True)]

    def suspects(self, limit: int | None = None) -> pa.Table:
        """Cells that are probably wrong, worst first: more of the functional dependencies checked contradict them than confirm them.

        Of the rows that agree on a left side, at least three in four must have one value for the others to be contradicted. Dependencies
        that were discovered with exceptions count only if they say much more than chance. Columns: ``row``, ``column``, ``value``,
        ``usual`` (what is expected instead), ``against`` and ``backing`` (numbers of rules).

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1, 1, 2, 2], "city": ["Hoboken", "Hobken", "Hoboken", "Hoboken", "Chicago", "Chicago"]})
        >>> check(table, "fd (zip) -> city", progress=False).suspects().to_pylist()
        [{'row': 1, 'column': 'city', 'value': 'Hobken', 'usual': 'Hoboken', 'against': 1, 'backing': 0}]
        """
        from rowlaw.violations.suspects import suspects

        dependencies = {v.rule: bool(v.named.error) for v in self.verdicts if isinstance(v.rule, FunctionalDependency)}
        return suspects(self.engine, dependencies, limit)

    def write_violations(self, path: str | os.PathLike[str], ids: Sequence[str] | None = None) -> int:
        """Stream all violations to a Parquet file: of one rule with the compared values, of several as ``rule, s_row, t_row``."""
        return write([self._clashes(id) for id in (ids if ids is not None else list(self._by_id))], path)

    def to_dict(self, sample: int = SAMPLE, suspects: int = 0) -> dict[str, Any]:
        """The JSON document of ``rowlaw check --format json``."""
        return {
            "rows": self.table_rows,
            "nulls": self.engine.nulls,
            "seconds": {phase: round(seconds, 3) for phase, seconds in self.seconds.items()},
            "rules": [
                {
                    "id": verdict.id,
                    "rule": str(verdict.named.rule),
                    "violations": verdict.violations,
                    "rows": verdict.rows,
                    "error": verdict.error,
                    "severity": verdict.named.severity,
                    "broken": verdict.broken,
                    "sample": self._clashes(verdict.id).sample(sample),
                }
                for verdict in self.verdicts
            ],
            **({"suspects": self.suspects(suspects).to_pylist()} if suspects else {}),
        }

    def to_json(self, sample: int = SAMPLE, suspects: int = 0) -> str:
        return json.dumps(self.to_dict(sample, suspects), default=str, ensure_ascii=False)

    def to_html(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write an HTML report: one file that needs no network. Options are those of :func:`rowlaw.write_report`."""
        # by its public name: reports are made of results, so results know nothing of the package that makes them
        importlib.import_module("rowlaw").write_report(path, self, **options)

    def close(self) -> None:
        """Give up the encoded table."""
        self.engine.relation.close()

    def _clashes(self, id: str) -> Clashes:
        verdict = self[id]
        return Clashes(self.engine, verdict.id, verdict.rule, verdict.found)
