"""Texts of moments: a type that is given accepts what inference accepts, and both give the instants that Python
reads."""

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.source.infer import typed
from rowlaw.storage.batch import read_batch

WANTED = pa.timestamp("us")
ROWLAW = Path(sys.executable).with_name("rowlaw")


@st.composite
def texts(draw, zoned):
    """A moment as text and as Python reads it: with or without seconds and parts of them, in one of the spellings of a
    zone."""
    moment = draw(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)))
    digits = draw(st.integers(0, 6))
    kept = moment.replace(microsecond=moment.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits))
    text = kept.strftime("%Y-%m-%d") + draw(st.sampled_from("T ")) + kept.strftime("%H:%M")
    if digits or draw(st.booleans()):
        text += kept.strftime(":%S") + (f".{kept.microsecond:06d}"[: digits + 1] if digits else "")
    else:
        kept = kept.replace(second=0, microsecond=0)
    if not zoned:
        return text, kept
    hours, minutes = draw(st.integers(0, 14)), draw(st.sampled_from([0, 0, 30, 45]))
    sign = draw(st.sampled_from("+-"))
    spellings = [f"{hours:02d}:{minutes:02d}", f"{hours:02d}{minutes:02d}", *([f"{hours:02d}"] if not minutes else [])]
    zone = "Z" if draw(st.booleans()) else sign + draw(st.sampled_from(spellings))
    offset = dt.timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1) if zone != "Z" else dt.timedelta(0)
    return text + zone, (kept - offset).replace(tzinfo=dt.UTC)


@given(data=st.data(), zoned=st.booleans(), null=st.booleans())
def test_given_and_inferred_types_agree(data, zoned, null):
    moments = dict(data.draw(st.lists(texts(zoned), min_size=1, max_size=5)))
    values = pa.array([*moments, *(["NA"] if null else [])])
    inferred, given_type = typed(values), typed(values, WANTED)
    assert inferred.type == given_type.type == pa.timestamp("us", "UTC" if zoned else None)
    expected = [*moments.values(), *([None] if null else [])]
    assert inferred.to_pylist() == given_type.to_pylist() == expected


@pytest.mark.parametrize(
    "values", [["2023-12-31T10:00:00Z", "2023-12-31T10:00:00"], ["2023-12-31 10:00", "2023-12-31 10:00+01"]]
)
def test_moments_with_and_without_a_zone_do_not_mix(values):
    assert typed(pa.array(values)).type == pa.large_string()
    with pytest.raises(RowlawError, match="BAD_VALUE") as raised:
        typed(pa.array(values), WANTED)
    assert raised.value.parameters["value"] == next(v for v in values if not v.endswith(("Z", "+01")))


def test_a_batch_has_zones_if_the_table_has(tmp_path):
    (tmp_path / "zoned.csv").write_text("ts\n2023-12-31T10:00:00Z\n")
    (tmp_path / "plain.csv").write_text("ts\n2023-12-31T10:00:00\n")
    utc = pa.timestamp("us", "UTC")
    assert read_batch(tmp_path / "zoned.csv", {"ts": utc}).columns["ts"].values.type == utc
    assert read_batch(tmp_path / "plain.csv", {"ts": WANTED}).columns["ts"].values.type == WANTED
    for name, wanted in (("zoned", WANTED), ("plain", utc)):
        with pytest.raises(RowlawError, match="BAD_VALUE"):
            read_batch(tmp_path / f"{name}.csv", {"ts": wanted})


def test_command(tmp_path):
    lines = ["ts,n", "2023-12-31T10:00:00Z,1", "2023-12-31T12:00:00+02:00,2", "2023-12-31T10:00:00.5Z,3"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    ways = []
    for types in ([], ["--types", "ts=timestamp"]):
        shown = subprocess.run(
            [ROWLAW, "check", "t.csv", "--rule", "key (ts)", "--format", "csv", "--quiet", *types],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=250,
        )  # fmt: skip
        assert shown.returncode == 1, shown.stderr
        ways.append(shown.stdout)
    assert ways[0] == ways[1]
    with rowlaw.encode(rowlaw.open_source(tmp_path / "t.csv", types={"ts": "timestamp"})) as relation:
        assert relation.codes("ts").tolist() == [0, 0, 1]
