"""``rowlaw.discover``: a table in, its laws out, the ones worth reading first."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from rowlaw.deadline import Deadline
from rowlaw.discovery.budget import DEPENDENCIES, KEYS, NEARLY, ORDERS, Budget
from rowlaw.discovery.denial import discover_denials
from rowlaw.discovery.dependencies import Strategy as DependencyStrategy
from rowlaw.discovery.dependencies import discover_dependencies
from rowlaw.discovery.gain import Prior
from rowlaw.discovery.goals import Dependencies
from rowlaw.discovery.levels import PAIRS, SAMPLE, discover_levels
from rowlaw.discovery.listing import Listing
from rowlaw.discovery.nearly import nearly_hold
from rowlaw.discovery.result import Discovery
from rowlaw.discovery.within import within_rows
from rowlaw.engine.choose import EngineName
from rowlaw.engine.open import open_discovery
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.errors import RowlawError, check_parameters
from rowlaw.evidence.sample import EFFICIENCY, PARTNERS, SampleOptions
from rowlaw.predicates.space import ORDERED_TYPES, OVERLAP, SpaceOptions, predicate_space
from rowlaw.progress import PATIENCE, Progress
from rowlaw.rules.model import Kind, Nulls, Predicate, Rule
from rowlaw.source import READING, open_source
from rowlaw.source.row_ids import RowId, naming_only
from rowlaw.source.types import print_types
from rowlaw.spark.jobs import finished
from rowlaw.stopping import Stopped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Strategy = Literal["auto", "pairs", "sample", "hydra", "levels"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SO_FAR = 3  # rules of a kind that are named while the run goes on


def discover(
    table: Any,
    *,
    kinds: str | Sequence[Kind] | None = None,
    error: float = 0.0,
    top: int | None = None,
    all: bool = False,
    nulls: Nulls = "unknown",
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    row_id: RowId = None,
    cross: bool = True,
    overlap: float | None = None,
    order_strings: bool = False,
    single_row: bool = False,
    constants: float | None = None,
    operators_of: Mapping[str, str] | None = None,
    predicates: Sequence[str | Predicate] | None = None,
    strategy: Strategy = "auto",
    sample_partners: int = PARTNERS,
    sample_efficiency: float = EFFICIENCY,
    level_sample: int = SAMPLE,
    level_pairs: int = PAIRS,
    seed: int = 0,
    non_keys: bool = False,
    time_limit: float | None = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    progress: bool = True,
    show_types: bool = False,
    **reading: Any,
) -> Discovery:
    """Find the minimal laws that the rows of a table obey, those worth reading first.

    Parameters
    ----------
    table
        What :func:`rowlaw.open_source` takes: a path, a Spark DataFrame, any frame with an Arrow C stream.
    kinds
        The kinds of rules to look for, one (``"fd"``) or several: ``key``, ``fd`` (functional dependencies), ``od``
        (order compatibilities), ``dc`` (denial constraints). By default all of them, and ``dc`` alone if ``predicates``
        are given. One kind alone gives all its minimal rules. Of several, each law is listed once, under its most
        specific kind, and not at all if others in the list imply it. A run for several kinds stops at a budget of some
        seconds and of 10,000 rules of a search, unless ``all`` or a ``time_limit`` is given; ``partial`` and ``why``
        say so. Without ``kinds`` the list also has keys and functional dependencies that nearly hold: their ``error``
        is not 0.
    error
        How much may break a rule; 0: nothing. For denial constraints it is the share of ordered pairs of rows that do
        (g1); for the other kinds the smallest share of rows without which the rule holds (g3).
    top
        The number of rules to keep, the best first. All are found in any case.
    all
        Find and keep every minimal rule, however long it takes, and no laws that nearly hold. The first rules are the
        same.
    nulls
        ``"unknown"``: a comparison with null is never true. ``"equal"``: null equals null and sorts before everything.
    columns, types, row_id, show_types, reading
        As in :func:`rowlaw.check`.
    cross, overlap, order_strings, single_row, constants, operators_of
        The predicate space of denial constraints, derived from the columns; see
        :class:`rowlaw.predicates.SpaceOptions`. ``operators_of={"zip": "= !="}`` restricts a column. ``overlap`` is 0.3
        by default, and in a run for several kinds two columns must share more than two values as well.
        ``order_strings`` is for order dependencies too.
    predicates
        The predicate space itself, instead of the options before: texts such as ``"s.zip = t.zip"``, or
        :class:`rowlaw.rules.Predicate`. Each brings its exchange of ``s`` and ``t``, so ``s.a < t.a`` brings ``s.a >
        t.a``; nothing else is added. Two predicates of a rule that compare the same operands are written as one: ``<=``
        and ``>=`` as ``=``.
    strategy
        ``"pairs"`` compares all pairs of distinct rows, ``"sample"`` a few and lets the engine check the rules;
        ``"auto"`` estimates which is faster. ``"hydra"`` looks for denial constraints, and ``"levels"`` for functional
        and order dependencies, as Hydra and HyOD were published; both use ``"auto"`` for the other kinds and where
        ``error`` is not 0. All find the same rules.
    sample_partners, sample_efficiency, seed
        How the strategies ``"sample"`` and ``"hydra"`` choose pairs: random partners of each row, and the new evidences
        for each pair compared below which focused sampling gives a column up. The same seed gives the same pairs. These
        change how long a run takes, never what it finds.
    level_sample, level_pairs
        How the strategy ``"levels"`` samples (HyOD): rows to begin with, and pairs that join them for each broken
        dependency.
    non_keys
        Also find the maximal sets of columns that are not unique, as ``non_keys`` of the result; with ``error=0`` and
        the kind ``key``.
    time_limit
        Seconds after which what is proven so far is returned, marked as ``partial``; reading and ranking are part of
        them. Ctrl-C does the same, and raises ``KeyboardInterrupt`` when it is pressed again. There are no near misses
        then, and of very many rules only the shortest are listed; ``why`` says so.

    engine
        As in :func:`rowlaw.check`. On Spark, rules of a sample of rows are found first, and then validated on all rows
        by Spark's workers; the rules are the same.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cities = ["Hoboken", "Hoboken", "New York", "New York"]
    >>> table = pa.table({"zip": ["07030", "07030", "10001", "10001"], "city": cities, "age": [1, 2, 3, 4]})
    >>> rules = discover(table, progress=False)
    >>> sorted(str(r.rule) for r in rules)[:3]
    ['fd (city) -> zip', 'fd (zip) -> city', 'key (age)']
    >>> space = ["s.zip = t.zip", "s.age < t.age", "s.city != t.city"]
    >>> [str(r.rule) for r in discover(table, predicates=space, progress=False)]
    ['not (s.zip = t.zip and s.city != t.city)']
    """
    check_parameters(discover, reading, READING)
    if isinstance(kinds, str):
        # "fd" is ["fd"], "key,fd" as on the command line
        kinds = cast("list[Kind]", [kind.strip() for kind in kinds.split(",")])
    several = (kinds is None and predicates is None) or (kinds is not None and len(set(kinds)) > 1)
    default = kinds is None and predicates is None and not all and not error
    options = SpaceOptions.of(
        operators_of=operators_of,
        predicates=predicates,
        cross=cross,
        overlap=OVERLAP if overlap is None and (all or not several) else overlap,
        order_strings=order_strings,
        single_row=single_row,
        constants=constants,
    )
    sample = SampleOptions(sample_partners, sample_efficiency, seed)
    if kinds is None:
        kinds = default_kinds(options)
    for kind in kinds:
        if kind not in KINDS:
            raise RowlawError("BAD_OPTION", option="kinds", value=kind, problem=f"use {', '.join(KINDS)}")
    if not 0 <= error < 1:
        raise RowlawError("BAD_OPTION", option="error", value=error, problem="a share, 0 or more and less than 1")
    if non_keys and ("key" not in kinds or error):
        raise RowlawError(
            "BAD_OPTION",
            option="non_keys",
            value=True,
            problem="they are what exact keys leave: use the kind key, error 0",
        )
    for option, value in (("level_sample", level_sample), ("level_pairs", level_pairs)):
        if value < 1:
            raise RowlawError("BAD_OPTION", option=option, value=value, problem="1 or more")
    if strategy not in get_args(Strategy):
        raise RowlawError(
            "BAD_OPTION", option="strategy", value=strategy, problem=f"use {', '.join(get_args(Strategy))}"
        )
    shown = Progress(quiet=not progress)
    deadline = Deadline.after(time_limit)
    with deadline.interruptible(), deadline.watched():
        try:
            with shown.phase("read"):
                source = open_source(table, columns=columns, types=types, session=session, **reading)
                opened = open_discovery(
                    source, nulls, row_id=row_id, session=session, engine=engine, seed=seed, stop=deadline
                )
            if show_types:
                print_types(opened.arrow_types)
        except Stopped:
            return Discovery(
                (), nulls, strategy="none", why="no time to read the table", partial=True, seconds=shown.seconds
            )
        shown.say(str(opened.choice))
        try:
            cells = opened.rows * len(opened.statistics.columns)
            on_spark = opened.choice.name == "spark"
            budget = Budget.of(deadline, several=several, complete=all, cells=cells, on_spark=on_spark)
            choices: dict[str, Any] = {
                "kinds": kinds,
                "error": error,
                "top": top,
                "strategy": strategy,
                "sample": sample,
            }
            choices |= {"levels": (level_sample, level_pairs), "non_keys": non_keys}
            return run(opened, options, **choices, budget=budget, default=default, progress=shown)
        finally:
            opened.close()


def default_kinds(options: SpaceOptions) -> tuple[Kind, ...]:
    """The kinds of rules to look for where the user names none: given predicates are a space for denial constraints."""
    return KINDS if options.predicates is None else ("dc",)


def run(
    engine: DiscoveryEngine,
    options: SpaceOptions,
    *,
    kinds: Sequence[Kind] = KINDS,
    error: float = 0.0,
    top: int | None = None,
    strategy: Strategy = "auto",
    deadline: Deadline | None = None,
    budget: Budget | None = None,
    default: bool = False,
    progress: Progress | None = None,
    sample: SampleOptions | None = None,
    levels: tuple[int, int] = (SAMPLE, PAIRS),
    non_keys: bool = False,
) -> Discovery:
    """Discover on a table that is open already. ``budget``: instead of a ``deadline`` alone, with shares of the time
    for each kind.

    ``default``: the list is for people, with laws that nearly hold and without those that hold only because nothing
    could break them. ``levels``: the sample size and the number of pairs of HyOD.
    """
    shown = progress or Progress(quiet=True)
    shares = budget or Budget(deadline or Deadline(), shared=False)
    limit = shares.deadline
    sampling = sample or SampleOptions()
    listing = Listing(engine, options, error, sampling.seed, limit, complete=not default, note=shares.said)
    began = time.monotonic()
    with limit.interruptible(), limit.watched():
        space: tuple[Predicate, ...] = ()
        with suppress(Stopped):  # a space that is not whole would make other rules minimal
            # first: may be refused
            space = finished(lambda: predicate_space(engine.statistics, options), limit) if "dc" in kinds else ()
        for some, share in _steps(kinds, shared=shares.shared):
            if listing.dependencies is not None and limit.passed:
                break
            part = _dependencies(
                engine, some, error, strategy, options.order_strings, shares.part(share), shown, levels
            )
            if (
                default
                and part.partial
                and "key" in some
                and not any(rule.kind == "key" for rule in part.rules)
                and not limit.passed
            ):
                # of a wide table there is no time for all functional dependencies; its keys alone take a fraction of it
                part = part.with_more(
                    _dependencies(engine, ("key",), error, strategy, False, shares.part(KEYS), shown, levels)
                )
            listing.dependencies = part if listing.dependencies is None else listing.dependencies.with_more(part)
            if default and "fd" in some and not limit.passed:
                if time.monotonic() - began > PATIENCE:
                    shown.say(_so_far(part.rules))
                with shown.phase("nearly"):
                    measured = Prior(engine).measured
                    stop = shares.part(NEARLY)
                    listing.nearly = nearly_hold(
                        engine, part.rules, measured_columns=measured, seed=sampling.seed, stop=stop
                    )
        if "dc" in kinds:
            if default and not limit.passed:
                listing.within = within_rows(engine, options, stop=limit)
            listing.predicates = len(space)
            of_pairs = "auto" if strategy == "levels" else strategy
            listing.denials = discover_denials(
                engine, space, error=error, strategy=of_pairs, deadline=limit, progress=shown, sample=sampling
            )
        with shown.phase("rank"):
            discovery = listing.result(top, shown)
        known = listing.dependencies
        counters = {"candidates": known.candidates, "validations": known.validations} if known is not None else {}
        columns = [c.name for c in engine.statistics.columns if c.name not in naming_only(engine.statistics.row_id)]
        if not non_keys or known is None or known.key_sets is None:
            return replace(discovery, counters=counters)
        return replace(discovery, counters=counters, non_keys=tuple(known.non_keys(columns)) if engine.rows > 1 else ())


def _so_far(rules: Sequence[Rule]) -> str:
    """What was found first, for those who wait."""
    parts = []
    for kind, what in (("key", "key"), ("fd", "functional dependency")):
        mine = sorted((rule for rule in rules if rule.kind == kind), key=lambda rule: len(rule.columns))
        plural = what if len(mine) == 1 else "keys" if kind == "key" else "functional dependencies"
        shortest = f" ({', '.join(map(str, mine[:_SO_FAR]))}{', ...' if len(mine) > _SO_FAR else ''})" if mine else ""
        parts.append(f"{len(mine):,} {plural}{shortest}")
    return f"so far: {' and '.join(parts)}"


def _steps(kinds: Sequence[Kind], *, shared: bool) -> list[tuple[list[Kind], float]]:
    """Kinds of rules other than denial constraints that are searched for together, and their share of the time left."""
    of_rows: list[Kind] = [kind for kind in kinds if kind != "dc"]
    if not shared:
        return [(of_rows, 1.0)] if of_rows else []
    first: list[Kind] = [kind for kind in of_rows if kind != "od"]
    second: list[Kind] = [kind for kind in of_rows if kind == "od"]
    return [(some, share) for some, share in ((first, DEPENDENCIES), (second, ORDERS)) if some]


def _dependencies(
    engine: DiscoveryEngine,
    kinds: Sequence[Kind],
    error: float,
    strategy: Strategy,
    strings: bool,
    deadline: Deadline,
    progress: Progress,
    levels: tuple[int, int],
) -> Dependencies:
    if strategy != "levels" or error:  # HyOD has no laws with exceptions
        chosen = cast("DependencyStrategy", strategy if strategy in get_args(DependencyStrategy) else "auto")
        choices: dict[str, Any] = {"error": error, "strategy": chosen, "order_strings": strings}
        return discover_dependencies(engine, kinds, **choices, deadline=deadline, progress=progress)
    if not engine.sample_is_whole:
        problem = "the table is larger than what this process may hold; use auto"
        raise RowlawError("BAD_OPTION", option="strategy", value=strategy, problem=problem)
    dependencies = Dependencies([], "levels", "asked for")
    if "key" in kinds:
        dependencies = discover_dependencies(engine, ("key",), deadline=deadline, progress=progress)
        dependencies.strategy, dependencies.why = "levels", "asked for; keys by differences"
    if {"fd", "od"} & set(kinds):
        columns = [c.name for c in engine.statistics.columns if c.name not in naming_only(engine.statistics.row_id)]
        sides = [name for name in columns if strings or engine.statistics.column(name).type in ORDERED_TYPES]
        by_levels = discover_levels(
            engine,
            deadline=deadline,
            progress=progress,
            columns=columns,
            ordered=sides if "od" in kinds else (),
            size=levels[0],
            pairs=levels[1],
        )
        dependencies.candidates, dependencies.validations = (
            dependencies.candidates + by_levels.checked,
            dependencies.validations + by_levels.validated,
        )
        dependencies.rules += by_levels.fds if "fd" in kinds else []
        dependencies.rules += by_levels.ods if "od" in kinds else []
    dependencies.partial = deadline.stopped
    return dependencies
