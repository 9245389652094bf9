"""All violations of a rule as a frame: each task lists those among its rows.

Rows that must agree on something meet by it. Rows of a rule without equalities, or of a group too large for one task,
are cut into blocks, and each pair of blocks is a task: then only rows that take part in a violation are sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from rowlaw.engine.answers import compared, value_names
from rowlaw.engine.spark import aggregate
from rowlaw.engine.spark.involved import rows_involved
from rowlaw.engine.spark.partition import heavy_keys, key_predicates
from rowlaw.engine.spark.planning import parts_of
from rowlaw.engine.spark.roles import KEY, hashed, may_be, meeting_value, spread, tasks_for
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.single import single_rows
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import ROLE, Item, PairsTask, S, T
from rowlaw.rules.model import Denial, Op, Rule, between_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_BLOCKS = ("s_block", "t_block")  # the blocks that the two rows of a pair are in
_MOST_TASKS = 4_096
_PLACE = "place"  # a number of a row that is good for one job


def violations(view: View, rows: DataFrame, rule: Rule, id: str) -> DataFrame:
    """All violations of a rule: ``rule``, ``s_row``, ``t_row`` and the values compared."""
    from pyspark.sql import functions as f

    table = view.table
    names = value_names(rule.columns)
    frames = [pairs_of(view, rows, table.safe(denial), rule.columns) for denial in rule.denials]
    frames = frames or [pairs_of(view, rows.limit(0), None, rule.columns)]  # a rule that is true on every table
    listed = reduce(lambda a, b: a.unionByName(b), frames)
    chosen = [f.col(f"{row}_{table.names[column]}").alias(names[row, column]) for row, column in compared(rule)]
    return listed.select(f.lit(id).alias("rule"), table.shown_id("s_row"), table.shown_id("t_row"), *chosen)


def pairs_of(view: View, rows: DataFrame, denial: Denial | None, columns: Sequence[str]) -> DataFrame:
    """The violations of a denial over safe names: ``s_row``, ``t_row`` and both rows' values in ``columns`` (own
    names)."""
    from pyspark.sql import functions as f

    table = view.table
    safe = tuple(table.names[c] for c in columns)
    types = dict(rows.dtypes)
    if denial is None or denial.arity == 1:
        matching = rows if denial is None else single_rows(view, rows, Shape.of(denial))
        values = [f.col(name).alias(f"{side}_{name}") for name in safe for side in ("s", "t")]
        return matching.select(f.col(ROW).alias("s_row"), f.lit(None).cast(types[ROW]).alias("t_row"), *values)
    shape = replace(Shape.of(denial), apart=view.sides.s != view.sides.t)
    row, carried = ROW, safe
    if len(table.row_id) > 1:  # tasks tell rows apart by a number; the columns of the id go along as values
        row, carried, types = (
            _PLACE,
            tuple(dict.fromkeys((*safe, *(table.names[c] for c in table.row_id)))),
            {**types, _PLACE: "bigint"},
        )
    fields = [
        ("s_row", types[row]),
        ("t_row", types[row]),
        *((f"{side}_{name}", types[name]) for name in carried for side in ("s", "t")),
    ]
    schema = ", ".join(f"{name} {kind}" for name, kind in fields)
    sent, within = _meeting(view, rows, shape, denial, carried, row)
    listed = sent.mapInArrow(PairsTask(Item(0, within), table.nulls, row, carried), schema)
    if row == ROW:
        return listed
    ids = [table.id_of({name: f.col(f"{side}_{name}") for name in carried}).alias(f"{side}_row") for side in ("s", "t")]
    return listed.select(*ids, *(f"{side}_{name}" for name in safe for side in ("s", "t")))


def _meeting(
    view: View, rows: DataFrame, shape: Shape, denial: Denial, safe: Sequence[str], row: str
) -> tuple[DataFrame, Denial]:
    """The rows that may violate a rule, in partitions where partners meet, and the denial that tasks list the
    violations of.

    ``row``: the column that tasks tell rows apart by.
    """
    from pyspark.sql import functions as f

    table = view.table
    used = tuple(dict.fromkeys((*shape.columns, *safe, row)))
    cut = not shape.equal or bool(heavy_keys(view, shape))
    if cut or aggregate.simple(shape):
        broken = rows_involved(view, rows, parts_of(view, 0, denial)).select(ROW)
        rows = rows.join(broken, ROW, "left_semi")
    if row == _PLACE:
        # the copies of a row that meet in a task were made by one attempt of one task, so they have the same number
        rows = rows.withColumn(_PLACE, f.monotonically_increasing_id())
    blocks = max(1, math.ceil(table.rows / view.task_rows(used))) if cut else 1
    keys = key_predicates(shape)
    if blocks == 1 and keys and all(p.same_column for p in keys) and not view.scope:
        known = table.known(rows, [p.left.name for p in keys])
        sent = known.select(hashed([known[p.left.name] for p in keys]).alias(KEY), *(known[c] for c in used))
        tasks = view.tasks(table.rows, used, [[p.left.name for p in keys]])
        return sent.repartition(tasks, KEY).drop(KEY), denial
    # a task may have several pairs of blocks: rows of different ones must not meet
    within = Denial((*denial.predicates, *(between_rows(name, Op.EQ) for name in _BLOCKS)))
    return _in_blocks(view, rows, shape, blocks, used), within


def _in_blocks(view: View, rows: DataFrame, shape: Shape, blocks: int, used: Sequence[str]) -> DataFrame:
    """Each row once for each block of the other role, so that every two rows meet in exactly one task."""
    from pyspark.sql import functions as f

    table = view.table
    block = f.pmod(f.xxhash64(rows[ROW]), f.lit(blocks))
    copies = []
    for role, row in ((S, "s"), (T, "t")):
        key = hashed([meeting_value(table, rows, p, row) for p in key_predicates(shape)])
        for other in range(blocks):
            pair = [p.cast("int") for p in ((block, f.lit(other)) if role == S else (f.lit(other), block))]
            fields = [f.lit(role).cast("int").alias(ROLE), hashed([key, *pair]).alias(KEY)]
            copy = f.struct(*fields, *(p.alias(name) for p, name in zip(pair, _BLOCKS, strict=True)))
            copies.append(f.when(may_be(table, rows, shape, row, view.scope), copy))
    sent = spread(rows, copies, used, [ROLE, KEY, *_BLOCKS])
    tasks = min(_MOST_TASKS, tasks_for(len(copies) * table.rows, view.task_rows(used), view.slots))
    return sent.repartition(tasks, KEY).drop(KEY)
