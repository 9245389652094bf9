"""What a check found: counts, rows and clashing pairs. Small things at once, large ones as lazy Spark frames."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from rowlaw.engine.answers import Removal, RuleCount
from rowlaw.engine.protocol import Engine, Findings
from rowlaw.errors import RowlawError, check_parameters, nearest
from rowlaw.rules import NamedRule
from rowlaw.rules.model import FunctionalDependency, Rule, about_single_rows
from rowlaw.rules.notebook import SHOWN, Code, notebook_table
from rowlaw.rules.wording import counted
from rowlaw.source.row_ids import named_records
from rowlaw.violations.causes import Causes, causes
from rowlaw.violations.clashes import Clashes, gathered, write
from rowlaw.violations.sides import Clash, distinct, side_by_side

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

BROKEN = 1  # exit code: a rule of severity error is broken
SAMPLE = 5  # clashes shown per rule
LISTED = 1_000  # rows or cells of an answer that is a list, unless the user asks for another number or for all
_LOOKED_AT = 8  # violations that are looked at for each clash that is shown
_MOST_LOOKED_AT = 200

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
        """Violations as a share of all ordered pairs that were compared (of all rows, if the rule speaks of single
        rows)."""
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
        return f"{self.id}: {what}, {counted(self.violations, 'violation')} in {counted(self.rows, 'row')}"


class Result:
    """The outcome of :func:`rowlaw.check`. Keeps what the engine computed until it is closed or no longer
    referenced."""

    def __init__(
        self, engine: Engine, findings: Findings, verdicts: Sequence[Verdict], seconds: Mapping[str, float]
    ) -> None:
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

    @property
    def ok(self) -> bool:
        """Whether no rule of severity error is broken: what the exit code of ``rowlaw check`` says."""
        return self.exit_code == 0

    def __bool__(self) -> bool:
        """Whether the table is :attr:`ok`, so that ``assert rowlaw.check(table, rules)`` is a test."""
        return self.ok

    def __len__(self) -> int:
        """The number of rules that were checked."""
        return len(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        """The verdicts, in the order of the rules."""
        return iter(self.verdicts)

    def __getitem__(self, id: str | int) -> Verdict:
        """The verdict on a rule, by its id or its position."""
        if isinstance(id, int) and not -len(self) <= id < len(self):
            raise RowlawError(
                "UNKNOWN_RULE", id=id, hint=f": the check has {counted(len(self), 'rule')}, result[0] is the first"
            )
        return self.verdicts[id if isinstance(id, int) else self._index(id)]

    def _index(self, id: str) -> int:
        if id not in self._number:
            raise RowlawError("UNKNOWN_RULE", id=id, hint=nearest(str(id), self._number))
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
        return "\n".join([f"Result: {self._summary()}", *lines, *more])

    def _summary(self) -> str:
        return (
            f"{len(self.broken):,} of {counted(len(self.verdicts), 'rule')} broken, {counted(self.table_rows, 'row')}"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: verdicts that are known already, those on broken rules first."""
        ordered = sorted(self.verdicts, key=lambda v: -v.violations)
        caption = self._summary()
        rows = [
            [
                v.id,
                "holds" if not v.violations else "broken" if v.broken else "tolerated",
                f"{v.violations:,}",
                f"{v.rows:,}",
                Code(v.rule),
            ]
            for v in ordered[:SHOWN]
        ]
        return notebook_table(caption, ["rule", "verdict", "violations", "rows", "law"], rows, len(ordered) - SHOWN)

    def clashes(self, id: str, limit: int = SAMPLE) -> pa.Table:
        """Up to ``limit`` violations of a rule with the compared values side by side, those of the worst rows first."""
        return self._clashes(id).first(limit)

    def side_by_side(self, id: str, limit: int = SAMPLE) -> list[Clash]:
        """Violations as comparisons: the values of the two rows beside each other, and where they clash. Those with
        other values than the ones before, up to ``limit``."""
        if limit <= 0:
            return []
        number = self._index(id)
        # one of each row, and more than are shown: the same values again say nothing new
        most = min(_LOOKED_AT * limit, max(limit, _MOST_LOOKED_AT))
        clashes = distinct(side_by_side(self[id].rule, self.findings.first(number, most, each=1), self.engine.nulls))
        if len(clashes) < limit:  # rows whose first violation shows nothing new may have others
            clashes = distinct(
                [*clashes, *side_by_side(self[id].rule, self.findings.first(number, most), self.engine.nulls)]
            )
        return clashes[:limit]

    def pairs(self, id: str) -> Iterator[pa.RecordBatch]:
        """All violations of a rule, batch by batch, with the compared values side by side; never all in memory."""
        return self._clashes(id).batches()

    def groups(self, id: str) -> Iterator[pa.RecordBatch]:
        """All violations of a rule in compressed form: lists ``s_rows`` and ``t_rows``, each row of one with each of
        the other but itself.

        For rules with very many violations: ten billion pairs may be a few thousand groups.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1], "city": ["a", "a", "b"]})
        >>> result = check(table, "fd (zip) -> city", progress=False)
        >>> groups = [group for batch in result.groups("R1") for group in batch.to_pylist()]
        >>> sum(len(group["s_rows"]) * len(group["t_rows"]) for group in groups)
        4
        """
        return self.findings.groups(self._index(id))

    def violations(self, id: str, session: SparkSession | None = None) -> DataFrame:
        """All violations of a rule as a lazy Spark DataFrame: ``rule``, ``s_row``, ``t_row`` and the values compared.

        The frame stays valid when the result is gone (see :meth:`close`). ``t_row`` is null where the rule is about
        single rows. In a check against an old table the columns ``new_s`` and ``new_t`` say which rows are new.
        """
        return self.findings.violations(self._index(id), id, session)

    @cached_property
    def rows(self) -> DataFrame:
        """The rows that take part in violations, as a Spark DataFrame: ``row``, ``rule``, ``pairs`` (in how many),
        worst first.

        In a check against an old table, rows of both tables, and a column ``new`` that tells them apart.
        """
        return self.findings.rows([verdict.id for verdict in self.verdicts])

    def flagged(self) -> DataFrame:
        """The table as a Spark DataFrame, with ``row`` (what a row is called) and ``broken_rules`` (the ids of the
        rules it breaks)."""
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

    def rows_to_remove(self, id: str, limit: int | None = LISTED) -> Removal:
        """The fewest rows without which a rule holds, or an upper bound: their count, and the ids of the first
        ``limit`` of them.

        ``limit=None`` brings all ids to this process.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1], "city": ["Hoboken", "Hobken", "Hoboken"]})
        >>> check(table, "fd (zip) -> city", progress=False).rows_to_remove("R1")
        Removal(count=1, exact=True, first=(1,))
        """
        return self.findings.rows_to_remove(self._index(id), limit)

    def causes(self) -> Causes:
        """The rows without which the broken rules would hold; ``print`` it.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1], "city": ["Hoboken", "Hobken", "Hoboken"]})
        >>> print(check(table, "fd (zip) -> city", progress=False).causes())
        1 row explains all 4 violations: 1
        """
        return causes(self)

    def to_pandas(self, id: str | None = None, *, limit: int = 1000) -> Any:
        """Violations as a pandas frame, of one rule or of all, up to ``limit`` of each: ``rule``, ``s_row``, ``t_row``,
        and the values.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1], "city": ["Hoboken", "Hobken"]})
        >>> check(table, "fd (zip) -> city", progress=False).to_pandas(limit=1).to_dict("records")
        [{'rule': 'R1', 's_row': 0, 't_row': 1, 's_city': 'Hoboken', 't_city': 'Hobken', 's_zip': 1, 't_zip': 1}]
        """
        chosen = [verdict.id for verdict in self.verdicts if verdict.violations] if id is None else [id]
        listed = gathered(self.findings, [self._clashes(one) for one in chosen], limit)
        if importlib.util.find_spec("pandas") is None:
            raise RowlawError("MISSING_PACKAGE", what="to_pandas", package="pandas", install="pandas")
        return listed.to_pandas()

    def suspects(self, limit: int | None = LISTED) -> pa.Table:
        """Cells that are probably wrong, worst first: more of the functional dependencies checked contradict them than
        confirm them.

        The first ``limit`` of them; ``limit=None`` brings all of them to this process.

        Of the rows that agree on a left side, at least three in four must have one value for the others to be
        contradicted. Dependencies that were discovered with exceptions count only if they say much more than chance.
        Columns: ``row``, ``column``, ``value``, ``usual`` (what is expected instead), ``against`` and ``backing``
        (numbers of rules), and ``confidence``: the share of the rules that contradict the cell, counting one more on
        either side.

        >>> from rowlaw import check
        >>> table = pa.table({"zip": [1, 1, 1, 1], "city": ["Hoboken", "Hobken", "Hoboken", "Hoboken"]})
        >>> (suspect,) = check(table, "fd (zip) -> city", progress=False).suspects().to_pylist()
        >>> suspect["row"], suspect["column"], suspect["value"], suspect["usual"]
        (1, 'city', 'Hobken', 'Hoboken')
        >>> suspect["against"], suspect["backing"], suspect["confidence"]
        (1, 0, 0.667)
        """
        dependencies = {v.rule: bool(v.named.error) for v in self.verdicts if isinstance(v.rule, FunctionalDependency)}
        cells = self.findings.suspects(dependencies, limit)
        votes = zip(cells["against"].to_pylist(), cells["backing"].to_pylist(), strict=True)
        shares = [round((against + 1) / (against + backing + 2), 3) for against, backing in votes]
        return cells.append_column("confidence", pa.array(shares, pa.float64()))

    def write_violations(
        self, path: str | os.PathLike[str], ids: Sequence[str] | None = None, limit: int | None = None
    ) -> int:
        """Write all violations, or up to ``limit`` of each rule; returns their count.

        To a file ending in .parquet, .csv or .arrow, or to a new folder of Parquet files (a name without an ending, or
        one that ends in ``/``). On the spark engine the workers write the folder, whatever its name: nothing passes
        this process. There a name that ends in .csv or .arrow still asks for one file, which this process writes, a
        partition at a time.

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
            **({"suspects": named_records(self.suspects(suspects))} if suspects else {}),
        }

    def to_json(self, sample: int = SAMPLE, suspects: int = 0) -> str:
        return json.dumps(self.to_dict(sample, suspects), default=str, ensure_ascii=False)

    def to_html(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write an HTML report: one file that needs no network. Options are those of :func:`rowlaw.write_report`."""
        # by its public name: reports are made of results, so results know nothing of the package that makes them
        write_report = importlib.import_module("rowlaw").write_report
        check_parameters(write_report, options, (), name="to_html")
        write_report(path, self, **options)

    def close(self) -> None:
        """Release what was computed and the encoded table.

        Frames stay valid, with one exception: those of the spark engine without a row id need the numbered rows that
        are released here.
        """
        if self._findings is not None:
            self._findings.close()
            self._findings = None

    def _clashes(self, id: str) -> Clashes:
        return Clashes(self.findings, self._index(id), id, self[id].rule)
