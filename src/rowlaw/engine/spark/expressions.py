"""Predicates and values as Spark column expressions that mean what the rule model says.

Spark's own habits are kept out: NaN is null and -0.0 is 0.0 before anything is compared, columns go by safe names, and
texts compare by their bytes, which is the order of code points.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.rules.conditions import Condition, IsNull, Matches
from rowlaw.rules.model import Column as Operand
from rowlaw.rules.model import Constant, Nulls, Op, Predicate, TypeClass
from rowlaw.rules.patterns import matcher

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DOUBLE_DIGITS = 15  # decimal digits that a double holds whatever they are
_EXACT_WHOLE = 2.0**53  # below which every whole number is a double of its own


def plain(column: Column, arrow_type: pa.DataType) -> Column:
    """A column as the engine compares it."""
    from pyspark.sql import functions as f

    if pa.types.is_floating(arrow_type):
        value = column.cast("double")
        return f.when(f.isnan(value), f.lit(None)).otherwise(value + f.lit(0.0))
    if pa.types.is_integer(arrow_type):
        return column.cast("bigint")
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_null(arrow_type):
        return column.cast("string")
    return column


def all_known(columns: Sequence[Column]) -> Column:
    """Whether no value is null."""
    from pyspark.sql import functions as f

    known = f.lit(True)
    for column in columns:
        known = known & column.isNotNull()
    return known


def same(left: Column, right: Column, nulls: Nulls) -> Column:
    """Whether two values are equal; null equals null if null is a value."""
    return left.eqNullSafe(right) if nulls == "equal" else left == right


def holds(p: Predicate, left: Column, right: Column, nulls: Nulls) -> Column:
    """Whether a predicate is true of two values. Never null."""
    from pyspark.sql import functions as f

    true, false = f.lit(True), f.lit(False)
    outcome = {
        Op.EQ: left == right,
        Op.NE: left != right,
        Op.LT: left < right,
        Op.LE: left <= right,
        Op.GT: left > right,
        Op.GE: left >= right,
    }[p.op]
    if nulls == "unknown":
        return f.coalesce(outcome, false)

    def accepts(op: Op) -> Column:
        return true if p.op & op else false

    # null is a value below all others
    return (
        f.when(left.isNull() & right.isNull(), accepts(Op.EQ))
        .when(left.isNull(), accepts(Op.LT))
        .when(right.isNull(), accepts(Op.GT))
        .otherwise(outcome)
    )


def holds_in_python(p: Predicate, frame: DataFrame, arrow_type: pa.DataType, nulls: Nulls) -> Column:
    """Whether a predicate about one row is true, judged by Python: it compares numbers of different types exactly,
    which Spark does not."""
    from pyspark.sql import functions as f

    accepted, unknown = int(p.op), nulls == "unknown"
    value: Any = p.right.value if isinstance(p.right, Constant) else None
    if isinstance(value, Decimal) and pa.types.is_floating(arrow_type):
        value = float(value)  # against floats a literal such as 0.1 means the float that is written so

    def outcome(left: Any, right: Any) -> bool:
        known: list[Any] = [None if isinstance(v, float) and math.isnan(v) else v for v in (left, right)]  # NaN is null
        if None in known:
            if unknown:
                return False
            known = [v is not None for v in known]  # null is below every value
        a, b = known
        return bool(accepted & (Op.LT if a < b else Op.EQ if a == b else Op.GT))

    if isinstance(p.right, Constant):
        return f.udf(lambda left: outcome(left, value), "boolean", useArrow=False)(frame[p.left.name])
    assert isinstance(p.right, Operand)
    return f.udf(outcome, "boolean", useArrow=False)(frame[p.left.name], frame[p.right.name])


def condition(wanted: Condition, negated: bool, column: Column, nulls: Nulls) -> Column:
    """Whether ``is null`` or ``matches`` is true of a value (not true, if ``negated``). Never null.

    Patterns are matched by Python, in linear time: a pattern can keep Java's regular expressions busy for years.
    """
    from pyspark.sql import functions as f

    if isinstance(wanted, IsNull):
        return column.isNotNull() if negated else column.isNull()
    assert isinstance(wanted, Matches)
    pattern = wanted.pattern
    described = f.udf(lambda text: text is not None and matcher(pattern).matches(text), "boolean", useArrow=False)(
        column
    )
    if not negated:
        return described
    return ~described if nulls == "equal" else column.isNotNull() & ~described


def comparable_in_spark(p: Predicate, arrow_types: dict[str, pa.DataType]) -> bool:
    """Whether Spark compares the two operands exactly: values of one type, or a literal that the column's type
    holds."""
    left = arrow_types[p.left.name]
    if isinstance(p.right, Operand):
        return alike_in_spark(left, arrow_types[p.right.name])
    return isinstance(p.right, Constant) and _literal_fits(p.right, left)


def alike_in_spark(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether Spark compares plain values of two types exactly."""
    families = (pa.types.is_integer, pa.types.is_floating)
    return bool(left.equals(right)) or any(of(left) and of(right) for of in families)


def _literal_fits(constant: Constant, arrow_type: pa.DataType) -> bool:
    value = constant.value
    if isinstance(value, bool | str):
        return True
    if isinstance(value, dt.datetime):
        return True
    if isinstance(value, dt.date):
        return True
    if pa.types.is_floating(arrow_type):
        return _finite(value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63 and not pa.types.is_decimal(arrow_type)
    return False  # a decimal literal beside an integer or decimal column: rare, and left to the workers


def _finite(value: Any) -> bool:
    try:
        return abs(float(value)) < float("inf")
    except OverflowError:
        return False


def literal(constant: Constant, arrow_type: pa.DataType) -> Column:
    """A literal in the type of the column that it is compared with."""
    from pyspark.sql import functions as f

    value = constant.value
    if isinstance(value, dt.datetime):
        if getattr(arrow_type, "tz", None) is None:
            return f.lit(value.isoformat(" ")).cast("timestamp_ntz")
        micros = (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001 - literals are written in UTC
        return f.timestamp_micros(f.lit(micros))
    if isinstance(value, dt.date):
        # as text, early years are refused
        return f.date_from_unix_date(f.lit(value.toordinal() - dt.date(1970, 1, 1).toordinal()))
    if isinstance(value, Decimal | int) and not isinstance(value, bool) and pa.types.is_floating(arrow_type):
        return f.lit(float(value))
    return f.lit(value)


def order_key(column: Column, kind: TypeClass, arrow_type: pa.DataType) -> Column:
    """A value to cut into ranges by: equal values have equal keys, and keys never run against values. Texts are their
    own key."""
    from pyspark.sql import functions as f

    match kind:
        case "text":
            return column
        case "date":
            return f.unix_date(column).cast("double")
        case "timestamp":
            return micros(column, arrow_type).cast("double")
        case _ if pa.types.is_decimal(arrow_type) and arrow_type.precision > _DOUBLE_DIGITS:
            # Spark rounds twice on the way from such a decimal to a double: the key of an equal number of another type
            # could differ
            return column.cast("string").cast("double")
        case _:
            return column.cast("double")


def rounded_off(column: Column, key: Column) -> Column:
    """How much a number is above its key, as an exact fraction. Spark has no numbers for that, so Python counts."""
    from pyspark.sql import functions as f

    def rest(value: Any, double: float | None) -> str | None:
        if value is None or double is None:
            return None
        return "0" if value == double else str(Fraction(value) - Fraction(double))

    return f.udf(rest, "string", useArrow=False)(column, key)


def only_key_of(key: object, arrow_type: pa.DataType) -> bool:
    """Whether all values of a type that have this key (see :func:`order_key`) are equal.

    >>> only_key_of(2.0, pa.int64()), only_key_of(2.0**60, pa.int64()), only_key_of(0.1, pa.decimal128(38, 20))
    (True, False, False)
    """
    if not isinstance(key, float):
        return True  # a text
    if pa.types.is_decimal(arrow_type):
        return bool(arrow_type.precision <= _DOUBLE_DIGITS)
    return pa.types.is_floating(arrow_type) or abs(key) < _EXACT_WHOLE


def micros(column: Column, arrow_type: pa.DataType) -> Column:
    """Microseconds since 1970: of an instant, or of a local time as if it were in UTC, whatever the time zone of the
    session."""
    from pyspark.sql import functions as f

    if getattr(arrow_type, "tz", None):
        return f.unix_micros(column)
    days = f.unix_date(f.to_date(column)).cast("bigint")
    minutes = (days * 24 + f.hour(column)) * 60 + f.minute(column)
    return minutes * 60_000_000 + (f.extract(f.lit("SECOND"), column) * 1_000_000).cast("bigint")
