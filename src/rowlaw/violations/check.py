"""``rowlaw.check``: a table and rules in, every violation counted out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowlaw.engine.against.open import open_against
from rowlaw.engine.choose import EngineName
from rowlaw.engine.open import open_engine
from rowlaw.engine.protocol import Engine
from rowlaw.errors import check_parameters
from rowlaw.progress import Progress
from rowlaw.rules import NamedRule, Nulls, RuleSet, bind, load
from rowlaw.rules.model import Rule, TypeClass
from rowlaw.source import READING, FileSource, Source, open_source
from rowlaw.source.read import read_source
from rowlaw.source.row_ids import RowId
from rowlaw.source.types import print_types, type_class
from rowlaw.violations.result import Result, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RULE_FILES = (".yaml", ".yml")


def check(
    table: Any,
    rules: RuleSet
    | str
    | os.PathLike[str]
    | Rule
    | NamedRule
    | Iterable[str | Rule | NamedRule]
    | Mapping[str, str | Rule | NamedRule],
    *,
    against: Any = None,
    nulls: Nulls | None = None,
    row_id: RowId = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    progress: bool = True,
    show_types: bool = False,
    **reading: Any,
) -> Result:
    """Count every violation of every rule; with ``against``, those that involve a row of ``table``.

    Parameters
    ----------
    table
        What :func:`rowlaw.open_source` takes: a path, a Spark DataFrame, any frame with an Arrow C stream.
    rules
        A :class:`RuleSet`, the path of a rule file, a rule or its text, or several of them (a mapping gives them ids).
    against
        An older table, of any size and of whatever :func:`rowlaw.open_source` takes: the rows of ``table`` are checked
        among themselves and together with its rows, and its own violations are left out. It is read once, and only rows
        that could break a rule together with a new row are kept, so the cost follows the new rows. ``flagged()``,
        ``good()``, ``bad()``, ``worst()`` and counts of rows are about ``table``; ``rows`` and ``violations(id)`` name
        rows of both, and say in ``new``, ``new_s`` and ``new_t`` whose they are. Its row ids are taken as they are:
        they need not be unique.
    nulls
        ``"unknown"``: a comparison with null is never true. ``"equal"``: null equals null and sorts before everything.
        By default what the rule set says.
    row_id
        The column by which rows are called in the result, or a list of columns: then a row's id is a struct of them in
        frames, and a tuple in Python. By default rows go by their position in the table, from 0.
    columns, types, reading
        As in :func:`rowlaw.open_source`.
    engine
        ``"local"`` reads the table into this process, ``"spark"`` leaves it where it is and never gathers it.
        ``"auto"``: what is Spark's is answered by Spark, unless it is so small that bringing it here is quicker;
        ``result.engine.choice`` says why.
    show_types
        Print on stderr which type each column has, as it was inferred or given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["07030", "07030", "10001"], "city": ["Hoboken", "Hobken", "New York"]})
    >>> result = check(table, ["fd (zip) -> city", "key (zip, city)"])
    >>> result.counts
    {'R1': 2, 'R2': 0}
    >>> result.clashes("R1").to_pylist()[0]
    {'s_row': 0, 't_row': 1, 's_city': 'Hoboken', 't_city': 'Hobken', 's_zip': '07030', 't_zip': '07030'}

    >>> new = pa.table({"zip": ["07030", "60601"], "city": ["Newark", "Chicago"]})
    >>> check(new, "key (zip)", against=table).clashes("R1", limit=1).to_pylist()[0]
    {'s_row': 0, 't_row': 0, 'new_s': True, 'new_t': False, 's_zip': '07030', 't_zip': '07030'}

    Nothing runs when a rule does not fit the table: that is an error which points at the place in the rule.
    """
    check_parameters(check, reading, READING)
    chosen = rule_set(rules, nulls)
    shown = Progress(quiet=not progress)
    source = open_source(table, columns=columns, types=types, session=session, **reading)
    known = known_types(source)
    for named in chosen:
        bind(named.origin or named.rule, known, source.skipped)  # before a large table is read
    with shown.phase("read"):
        needed = list(dict.fromkeys(name for named in chosen for name in named.rule.columns))
        opened: Engine
        if against is not None:
            old = _old_source(against, types, session, reading)
            opened = open_against(
                source, old, chosen.nulls, columns=needed, row_id=row_id, session=session, engine=engine
            )
        else:
            opened = open_engine(
                source, chosen.nulls, row_id=row_id, session=session, engine=engine, columns=needed, rules=len(chosen)
            )
    shown.say(str(opened.choice))
    if show_types:
        print_types(opened.arrow_types)
    try:
        return run(opened, chosen, shown)
    except BaseException:
        opened.close()
        raise


def run(engine: Engine, rules: RuleSet, progress: Progress | None = None) -> Result:
    """Check a table that is open already. Nulls mean what they mean to the engine."""
    shown = progress or Progress(quiet=True)
    bound = [bind(named.origin or named.rule, engine.types, engine.skipped) for named in rules]
    with shown.phase("check") as phase:
        findings = engine.check(bound, done=phase.update)
    counted = list(zip(rules, bound, findings.counts, strict=True))
    old_rows = getattr(engine, "old_rows", 0) if any(count.pairs for _, _, count in counted) else 0
    verdicts = [Verdict(named, rule, count, engine.rows, old_rows) for named, rule, count in counted]
    return Result(engine, findings, verdicts, shown.seconds)


def _old_source(
    against: Any, types: Mapping[str, str] | None, session: SparkSession | None, reading: Mapping[str, Any]
) -> Source:
    """The old table of an incremental check. What says how a text file is written holds for both tables, the format
    does not."""
    if isinstance(against, Source):
        return against
    alike = {name: value for name, value in reading.items() if name != "format"}
    old = read_source(against, session=session, **alike)
    wanted = {name: text for name, text in (types or {}).items() if name in old.columns}
    return read_source(against, types=wanted, session=session, **alike) if wanted else old


def rule_set(rules: Any, nulls: Nulls | None = None) -> RuleSet:
    """Rules as people give them, as a rule set."""
    if isinstance(rules, os.PathLike) or (
        isinstance(rules, str) and Path(rules).suffix in _RULE_FILES and "\n" not in rules
    ):
        rules = load(rules)
    return RuleSet.of(rules, nulls=nulls)


def known_types(source: Source) -> dict[str, TypeClass | None]:
    """What is known of the columns' types before reading: nothing of text files, except what the user said."""
    guessed = isinstance(source, FileSource) and source.inferred
    return {
        field.name: type_class(source.types[field.name])
        if field.name in source.types
        else None
        if guessed
        else type_class(field.type)
        for field in source.schema
    }
