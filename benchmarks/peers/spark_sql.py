"""Counts of violations in Spark SQL as an expert writes them, by the text of the rule.

Keys and functional dependencies are sums over group sizes. The order rule is folded first: rows that are equal in its
columns become one with a count, and the folded table is joined with itself. ``join`` is what is written first by those
who do not fold.
"""

from __future__ import annotations

from benchmarks.tables.tax import AREA_STATE, CHILD_EXEMPTION, KEY, RATE_ORDER, SINGLE_EXEMPTION, ZIP_CITY, ZIP_STATE


def key(*columns: str) -> str:
    """Pairs of rows that are equal in the columns."""
    names = ", ".join(columns)
    groups = f"select count(*) as n from tax where {_known(columns)} group by {names} having count(*) > 1"
    return f"select coalesce(sum(n * (n - 1)), 0) as pairs from ({groups})"


def dependency(left: tuple[str, ...], right: str) -> str:
    """Pairs of rows that are equal on the left and not on the right: all pairs of a group less those with the same
    value."""
    names = ", ".join(left)
    cells = f"select {names}, count(*) as n from tax where {_known((*left, right))} group by {names}, {right}"
    groups = f"select sum(n) as n, sum(n * n) as same from ({cells}) group by {names}"
    return f"select coalesce(sum(n * n - same), 0) as pairs from ({groups})"


def order(group: str, more: str, less: str) -> str:
    """Pairs of rows of one group with more of one column and less of another, on the folded table."""
    columns = (group, more, less)
    names = ", ".join(columns)
    folded = f"select {names}, count(*) as n from tax where {_known(columns)} group by {names}"
    on = f"s.{group} = t.{group} and s.{more} > t.{more} and s.{less} < t.{less}"
    return f"with folded as ({folded}) select coalesce(sum(s.n * t.n), 0) as pairs from folded s join folded t on {on}"


def join(group: str, more: str, less: str) -> str:
    """The same pairs by a plain self-join."""
    return (
        f"select count(*) as pairs from tax s join tax t on s.{group} = t.{group} and s.{more} > t.{more} and "
        f"s.{less} < t.{less}"
    )


def _known(columns: tuple[str, ...]) -> str:
    return " and ".join(f"{name} is not null" for name in columns)


EXPERT = {
    KEY: key("AreaCode", "Phone"),
    ZIP_CITY: dependency(("Zip",), "City"),
    ZIP_STATE: dependency(("Zip",), "State"),
    AREA_STATE: dependency(("AreaCode",), "State"),
    CHILD_EXEMPTION: dependency(("State", "HasChild"), "ChildExemp"),
    SINGLE_EXEMPTION: dependency(("State", "MaritalStatus"), "SingleExemp"),
    RATE_ORDER: order("State", "Rate", "Salary"),
}
PLAIN = {RATE_ORDER: join("State", "Rate", "Salary")}
