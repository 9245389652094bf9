"""Files appear whole or not at all, whatever happens while they are written."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from rowlaw.errors import RowlawError
from rowlaw.output import whole_file, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_interrupted_leaves_the_old_file(tmp_path):
    path = tmp_path / "told.txt"
    write_text(path, "old")

    def interrupted():
        with whole_file(path) as draft:
            Path(draft).write_text("half")
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


def test_a_full_disk_has_a_name(tmp_path):
    """A limit on the size of files stands in for the disk."""
    path = tmp_path / "told.txt"
    write_text(path, "old")
    text = f"from rowlaw.output import write_text; write_text({str(path)!r}, 'x' * 10000)"

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, preexec_fn=limited)
    assert "rowlaw.errors.RowlawError: FILE_NOT_WRITTEN" in done.stderr
    assert "File too large" in done.stderr
    assert path.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


def test_where_no_file_can_be(tmp_path):
    with pytest.raises(RowlawError, match="NO_SUCH_FILE"):
        write_text(tmp_path / "nothing" / "told.txt", "it")
    with pytest.raises(RowlawError, match="FILE_NOT_WRITTEN.*folder") as caught:
        write_text(tmp_path, "it")
    assert caught.value.exit_code == 3
    with pytest.raises(RowlawError, match="FILE_NOT_WRITTEN.*Unicode"):
        write_text(tmp_path / "told.txt", "\ud800")
    assert not names(tmp_path)


def test_a_device_is_written_and_stays_a_device(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_two_writers_do_not_share_a_draft(tmp_path):
    path = tmp_path / "told.txt"
    with whole_file(path) as one, whole_file(path) as other:
        assert one != other
        Path(one).write_text("one")
        Path(other).write_text("other")
    assert path.read_text() == "one"
    assert names(tmp_path) == ["told.txt"]


def test_what_a_killed_writer_left_is_swept(tmp_path):
    path = tmp_path / "told.txt"
    text = f"""
import os, signal
from rowlaw.output import whole_file
with whole_file({str(path)!r}) as draft:
    open(draft, "w").write("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", text], check=False)
    assert len(names(tmp_path)) == 1
    assert not path.exists()
    write_text(tmp_path / "another.txt", "it")
    assert len(names(tmp_path)) == 2
    write_text(path, "whole")
    assert names(tmp_path) == ["another.txt", "told.txt"]


def test_long_names(tmp_path):
    path = tmp_path / ("ü" * 127)
    write_text(path, "it")
    assert path.read_text() == "it"
