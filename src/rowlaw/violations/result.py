"""What a check found: counts, rows and clashing pairs. Small things at once, large ones as lazy Spark frames."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from rowlaw.engine.answers import Removal, RuleCount
from rowlaw.engine.protocol import Engine, Findings
from rowlaw.errors import RowlawError, nearest
from rowlaw.rules import NamedRule
from rowlaw.rules.model import FunctionalDependency, Rule, about_single_rows
from rowlaw.rules.notebook import SHOWN, Code, notebook_table
from rowlaw.violations.clashes import Clashes, write
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
    count: RuleCount
    table_rows: int  # of the new table, in a check against an old one
    old_rows: int = 0  # of the old table

    @property
    def id(self) -> str:
        return self.named.id

    @property
    def violations(self) -> int:
        """Ordered pairs of rows that break the rule (rows, if it speaks of single rows)."""
        return self.count.pairs

    @property
    def rows(self) -> int:
        """Rows that take part in a violation."""
        return self.count.rows

    @property
    def error(self) -> float:
        """Violations as a share of all ordered pairs that were compared (of all rows, if the rule speaks of single rows)."""
        n = self.table_rows
        pairs = n if about_single_rows(self.rule) else n * (n - 1) + 2 * n * self.old_rows
        return self.violations / pairs if self.violations else 0.0

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
    """The outcome of :func:`rowlaw.check`. Keeps what the engine computed until it is closed or no longer referenced."""

    def __init__(self, engine: Engine, findings: Findings, verdicts: Sequence[Verdict], seconds: Mapping[str, float]) -> None:
        self.engine = engine
        self._findings: Findings | None = findings
        self.verdicts = tuple(verdicts)
        self.seconds = dict(seconds)
        self._number = {verdict.id: number for number, verdict in enumerate(self.verdicts)}

    @property
    def table_rows(self) -> int:
        """Rows of the table; of the new table, in a check against an old one."""
        return self.engine.rows

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
        return self.verdicts[self._index(id)]

    def _index(self, id: str) -> int:
        if id not in self._number:
            raise RowlawError("UNKNOWN_RULE", id=id, hint=nearest(id, self._number))
        return self._number[id]

    @property
    def findings(self) -> Findings:
        """The answers of the engine, for rules by their index."""
        if self._findings is None:
            raise RowlawError("RESULT_CLOSED")
        return self._findings

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
        return side_by_side(self[id].rule, self.findings.first(self._index(id), limit), self.engine.nulls)

    def pairs(self, id: str) -> Iterator[pa.RecordBatch]:
        """All violations of a rule, batch by batch, with the compared values side by side; never all in memory."""
        return self._clashes(id).batches()

    def groups(self, id: str) -> Iterator[pa.RecordBatch]:
        """All violations of a rule in compressed form: lists ``s_rows`` and ``t_rows``, each row of one with each of the other but itself.

        For rules with very many violations: ten billion pairs may be a few thousand groups.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1], "city": ["a", "a", "b"]})
        >>> groups = [g for batch in check(table, "fd (zip) -> city", progress=False).groups("R1") for g in batch.to_pylist()]
        >>> sum(len(group["s_rows"]) * len(group["t_rows"]) for group in groups)
        4
        """
        return self.findings.groups(self._index(id))

    def violations(self, id: str, session: SparkSession | None = None) -> DataFrame:
        """All violations of a rule as a lazy Spark DataFrame: ``rule``, ``s_row``, ``t_row`` and the values compared.

        The frame stays valid when the result is gone (see :meth:`close`). ``t_row`` is null where the rule is about single rows.
        In a check against an old table the columns ``new_s`` and ``new_t`` say which rows are new.
        """
        return self.findings.violations(self._index(id), id, session)

    @cached_property
    def rows(self) -> DataFrame:
        """The rows that take part in violations, as a Spark DataFrame: ``row``, ``rule``, ``pairs`` (in how many), worst first.

        In a check against an old table, rows of both tables, and a column ``new`` that tells them apart.
        """
        return self.findings.rows([verdict.id for verdict in self.verdicts])

    def flagged(self) -> DataFrame:
        """The table as a Spark DataFrame, with ``row`` (what a row is called) and ``broken_rules`` (the ids of the rules it breaks)."""
        return self.findings.flagged([verdict.id for verdict in self.verdicts])

    def good(self) -> DataFrame:
        """The rows that break no rule."""
        return self._where_flags("size({}) = 0")

    def bad(self) -> DataFrame:
        """The rows that break a rule, with the ids of the rules."""
        return self._where_flags("size({}) > 0")

    def _where_flags(self, condition: str) -> DataFrame:
        flagged = self.flagged()
        return flagged.where(condition.format(f"`{flagged.columns[-1]}`"))

    def worst(self, limit: int = 10) -> list[tuple[Any, int]]:
        """The rows in most violations over all rules: ``(row, pairs)``, worst first."""
        return [(worst.row, worst.pairs) for worst in self.findings.worst(limit)]

    def rows_to_remove(self, id: str, limit: int | None = None) -> Removal:
        """The fewest rows without which a rule holds, or an upper bound: their count, and the ids of the first ``limit`` of them.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1], "city": ["Hoboken", "Hobken", "Hoboken"]})
        >>> check(table, "fd (zip) -> city", progress=False).rows_to_remove("R1")
        Removal(count=1, exact=True, first=(1,))
        """
        return self.findings.rows_to_remove(self._index(id), limit)

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
        dependencies = {v.rule: bool(v.named.error) for v in self.verdicts if isinstance(v.rule, FunctionalDependency)}
        return self.findings.suspects(dependencies, limit)

    def write_violations(self, path: str | os.PathLike[str], ids: Sequence[str] | None = None, limit: int | None = None) -> int:
        """Write all violations, or up to ``limit`` of each rule, to a file ending in .parquet, .csv or .arrow; returns their count.

        Columns: ``rule``, ``s_row``, ``t_row``, and the values of both rows in the columns that the rules compare.
        """
        chosen = ids if ids is not None else list(self._number)
        return write(self.findings, [self._clashes(id) for id in chosen], path, limit)

    def to_dict(self, sample: int = SAMPLE, suspects: int = 0) -> dict[str, Any]:
        """The JSON document of ``rowlaw check --format json``."""
        return {
            "rows": self.table_rows,
            "nulls": self.engine.nulls,
            "engine": {"name": self.engine.choice.name, "why": self.engine.choice.why},
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
                    **({"new": self._clashes(verdict.id).new(sample)} if self.findings.told_apart else {}),
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
        """Release what was computed and the encoded table.

        Frames stay valid, with one exception: those of the spark engine without a row id need the numbered rows that are released here.
        """
        if self._findings is not None:
            self._findings.close()
            self._findings = None

    def _clashes(self, id: str) -> Clashes:
        return Clashes(self.findings, self._index(id), id, self[id].rule)
