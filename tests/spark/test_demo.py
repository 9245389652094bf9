"""The demo's story on Spark, told whole: every step, and the files that Spark's workers leave."""

import pyarrow.parquet as pq

from rowlaw.cli.demo import show


def test_the_whole_story(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    show()
    shown = capsys.readouterr().out
    parts = [
        "336,776 flights that left New York in 2013, as a Spark DataFrame",
        "7 rules, checked where the rows are",
        "spark engine: asked for",
        "One that nearly holds",
        "4 errors planted in a copy",
        "What a pipeline does next",
        "The table planes: 3,322 rows",
        "A row arrives",
        "report.html",
    ]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert "fd (origin, dest) -> distance: without 95 of 336,776 rows it would hold" in shown
    for found in (
        "hour      16      clock, order",
        "distance  0       length",
        "minute    0       minutes",
        "dest      EWR     away",
    ):
        assert found in shown
    assert "\x1b" not in shown
    folder = tmp_path / "rowlaw-demo"
    assert "month=1, day=1, carrier=UA, flight=194, origin=JFK" in (folder / "flights.html").read_text()
    written = pq.read_table(folder / "violations")
    assert written.column_names[:3] == ["rule", "s_row", "t_row"]
    assert f"{written.num_rows:,} violations of" in shown
    clean = pq.read_table(folder / "clean.parquet", columns=["broken_rules"]).column(0)
    assert f"{len(clean):,} of 336,776 rows" in shown
    assert clean.combine_chunks().flatten().to_pylist() == []
