"""``rowlaw.discover``: a table in, its laws out, the ones worth reading first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.denial import discover_denials
from rowlaw.discovery.dependencies import discover_dependencies
from rowlaw.discovery.goals import Dependencies
from rowlaw.discovery.levels import discover_levels
from rowlaw.discovery.listing import Listing
from rowlaw.discovery.result import Discovery
from rowlaw.engine.engine import Engine
from rowlaw.errors import RowlawError
from rowlaw.predicates.space import SpaceOptions, operators, predicate_space
from rowlaw.progress import Progress
from rowlaw.relation import Relation, encode
from rowlaw.rules.model import Kind, Nulls
from rowlaw.source import open_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Strategy = Literal["auto", "pairs", "sample", "levels"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def discover(
    table: Any,
    *,
    kinds: Sequence[Kind] = KINDS,
    error: float = 0.0,
    top: int | None = None,
    nulls: Nulls = "unknown",
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    row_id: str | None = None,
    cross: bool = True,
    overlap: float = 0.3,
    order_strings: bool = False,
    single_row: bool = False,
    constants: float | None = None,
    operators_of: Mapping[str, str] | None = None,
    strategy: Strategy = "auto",
    time_limit: float | None = None,
    session: SparkSession | None = None,
    progress: bool = True,
    seed: int = 0,
    **reading: Any,
) -> Discovery:
    """Find all minimal laws that the rows of a table obey, best first.

    Parameters
    ----------
    table
        What :func:`rowlaw.open_source` takes: a path, a Spark DataFrame, any frame with an Arrow C stream.
    kinds
        The kinds of rules to look for: ``key``, ``fd`` (functional dependencies), ``od`` (order compatibilities), ``dc`` (denial
        constraints). One kind alone gives all its minimal rules. Of several, each law is listed once, under its most specific kind, and not
        at all if others in the list imply it.
    error
        How much may break a rule; 0: nothing. For denial constraints it is the share of ordered pairs of rows that do (g1); for the other
        kinds the smallest share of rows without which the rule holds (g3).
    top
        Keep only so many of the best rules. All are found in any case.
    nulls
        ``"unknown"``: a comparison with null is never true. ``"equal"``: null equals null and sorts before everything.
    columns, types, row_id, reading
        As in :func:`rowlaw.check`.
    cross, overlap, order_strings, single_row, constants, operators_of
        The predicate space; see :class:`rowlaw.predicates.SpaceOptions`. ``operators_of={"zip": "= !="}`` restricts a column.
    strategy
        ``"pairs"`` compares all pairs of distinct rows, ``"sample"`` a few and lets the engine check the rules; ``"auto"`` estimates
        which is faster. ``"levels"`` looks for functional and order dependencies as HyOD was published. All find the same rules.
    time_limit
        Seconds after which what is proven so far is returned, marked as ``partial``. Ctrl-C does the same. There are no near misses then,
        and of very many rules only the shortest are listed; ``why`` says so.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cities = ["Hoboken", "Hoboken", "New York", "New York"]
    >>> table = pa.table({"zip": ["07030", "07030", "10001", "10001"], "city": cities, "age": [1, 2, 3, 4]})
    >>> rules = discover(table, progress=False)
    >>> sorted(str(r.rule) for r in rules)[:3]
    ['fd (city) -> zip', 'fd (zip) -> city', 'key (age)']
    """
    for kind in kinds:
        if kind not in KINDS:
            raise RowlawError("BAD_OPTION", option="kinds", value=kind, problem=f"use {', '.join(KINDS)}")
    if not 0 <= error < 1:
        raise RowlawError("BAD_OPTION", option="error", value=error, problem="a share, 0 or more and less than 1")
    if strategy not in get_args(Strategy):
        raise RowlawError("BAD_OPTION", option="strategy", value=strategy, problem=f"use {', '.join(get_args(Strategy))}")
    chosen = {name: operators(text) for name, text in (operators_of or {}).items()}
    options = SpaceOptions(None, chosen, cross, overlap, order_strings, single_row, constants)
    shown = Progress(quiet=not progress)
    deadline = Deadline.after(time_limit)
    with shown.phase("read"):
        relation = encode(open_source(table, columns=columns, types=types, session=session, **reading), row_id=row_id, session=session)
    with relation:
        return run(
            relation,
            options,
            kinds=kinds,
            nulls=nulls,
            error=error,
            top=top,
            strategy=strategy,
            deadline=deadline,
            progress=shown,
            seed=seed,
            session=session,
        )


def run(
    relation: Relation,
    options: SpaceOptions,
    *,
    kinds: Sequence[Kind] = KINDS,
    nulls: Nulls = "unknown",
    error: float = 0.0,
    top: int | None = None,
    strategy: Strategy = "auto",
    deadline: Deadline | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    session: SparkSession | None = None,
) -> Discovery:
    """Discover on a relation that is encoded already."""
    shown = progress or Progress(quiet=True)
    limit = deadline or Deadline()
    engine = Engine(relation, nulls, session)
    listing = Listing(engine, options, error, seed, limit)
    space = predicate_space(relation, options) if "dc" in kinds else ()  # first, because it may be refused
    with limit.interruptible():
        if set(kinds) - {"dc"}:
            listing.dependencies = _dependencies(engine, kinds, error, strategy, limit, shown)
        if "dc" in kinds:
            listing.predicates = len(space)
            of_pairs = "auto" if strategy == "levels" else strategy
            listing.denials = discover_denials(engine, space, error=error, strategy=of_pairs, deadline=limit, progress=shown, seed=seed)
    with shown.phase("rank"):
        return listing.result(top, shown)


def _dependencies(
    engine: Engine, kinds: Sequence[Kind], error: float, strategy: Strategy, deadline: Deadline, progress: Progress
) -> Dependencies:
    if strategy != "levels" or error:  # HyOD has no laws with exceptions
        chosen = "auto" if strategy == "levels" else strategy
        return discover_dependencies(engine, kinds, error=error, strategy=chosen, deadline=deadline, progress=progress)
    found = Dependencies([], "levels", "asked for")
    if "key" in kinds:
        found = discover_dependencies(engine, ("key",), deadline=deadline, progress=progress)
        found.strategy, found.why = "levels", "asked for; keys by differences"
    if {"fd", "od"} & set(kinds):
        columns = [c.name for c in engine.relation.columns if c.name != engine.relation.row_id]
        by_levels = discover_levels(engine, deadline=deadline, progress=progress, columns=columns, ordered=None if "od" in kinds else ())
        found.rules += by_levels.fds if "fd" in kinds else []
        found.rules += by_levels.ods if "od" in kinds else []
    found.partial = deadline.stopped
    return found
