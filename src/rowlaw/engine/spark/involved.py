"""The rows that take part in violations, and in how many: a frame for each rule, from the plans that count it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from rowlaw.engine.spark.count import itself
from rowlaw.engine.spark.plan import PAIRS, Part, RowPlan
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_involved(view: View, rows: DataFrame, parts: Sequence[Part[RowPlan]]) -> DataFrame:
    """The rows that take part in violations of one rule: ``row`` and ``pairs``. ``rows`` is the labelled frame."""
    from pyspark.sql import functions as f

    frames = [frame for part in parts for frame in _frames(view, rows, part)]
    if len(frames) == 1 and not parts[0].in_two_roles:
        return frames[0]
    together = reduce(lambda a, b: a.unionByName(b), frames)
    return together.groupBy(ROW).agg(f.sum(PAIRS).alias(PAIRS)).where(f.col(PAIRS) > 0)


def _frames(view: View, rows: DataFrame, part: Part[RowPlan]) -> list[DataFrame]:
    """Frames of rows and signed counts of pairs that add up to those of a part."""
    from pyspark.sql import functions as f

    frames = part.plan.frames(view, rows, part)
    own = itself(view, rows, part) if part.in_two_roles else None
    if own is not None:
        frames.append(own.select(ROW, f.lit(-2).cast("bigint").alias(PAIRS)))
    return [frame.select(ROW, (f.col(PAIRS) * part.sign).alias(PAIRS)) for frame in frames] if part.sign < 0 else frames
