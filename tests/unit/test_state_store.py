"""The folder of a state: generations, readers while somebody writes, writers who exclude each other, and damage."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from rowlaw.errors import RowlawError
from rowlaw.storage import arrays, store
from rowlaw.storage.arrays import FileArray
from rowlaw.storage.store import Store


class Killed(BaseException):
    """As good as a power cut: nothing that catches exceptions catches it."""


def commit(state, number):
    """A generation with a small array, a large one, one that grows and one that stays."""
    with state.writing() as writer:
        writer.array("small", np.array([number, number + 1]))
        writer.under("deep").array("large", np.full(20_000, number))
        writer.json("facts", {"number": number, "text": "é"})
        if "stays" in writer:
            writer.keep("stays")
        else:
            writer.array("stays", np.arange(3))
        log = (
            state.growing("log")
            if "log" in writer
            else FileArray.create(state.data / writer.new_file(), np.zeros(0, np.int32))
        )
        log.extend(np.array([number, number], np.int32))
        writer.grow("log", log)
        writer.commit({"number": number})


def seen(state):
    """What a reader sees, once it is sure that it is all of one generation."""
    number, reader = state.facts["number"], state.reader
    assert reader.array("small").tolist() == [number, number + 1]
    assert (reader.under("deep").array("large") == number).all()
    assert reader.json("facts") == {"number": number, "text": "é"}
    assert reader.array("stays").tolist() == [0, 1, 2]
    assert reader.array("log").tolist() == [n for n in range(number + 1) for _ in "12"]
    return number


@pytest.fixture
def state(tmp_path):
    made = Store.create(tmp_path / "state")
    commit(made, 0)
    return made


def test_generations(state):
    for number in range(1, 5):
        commit(state, number)
        assert seen(state) == seen(Store.open(state.folder)) == number
    assert "missing" not in state.reader
    assert len(os.listdir(state.data)) == 6  # two generations of a small and a large file, what stays, and the log
    empty = Store.create(state.folder.parent / "empty")
    with empty.writing() as writer:
        writer.array("nothing", np.zeros((0, 3), np.float32))
        writer.commit({})
    assert Store.open(empty.folder).reader.array("nothing").shape == (0, 3)


def test_readers_see_one_generation_while_others_are_written(state):
    reader = Store.open(state.folder)
    for number in range(1, 6):
        commit(state, number)
        assert seen(reader) == 0
    assert reader.refresh()
    assert seen(reader) == 5
    assert not reader.refresh()


def test_a_reader_whose_files_go_reads_the_manifest_again(state, monkeypatch):
    manifest, late = Store._manifest, []

    def slowly(self):
        found = manifest(self)
        if not late:
            late.append(True)
            for number in range(1, 4):
                commit(state, number)
        return found

    monkeypatch.setattr(Store, "_manifest", slowly)
    reader = Store(state.folder)
    late.clear()
    reader.refresh()
    assert seen(reader) == 3


def test_two_writers_exclude_each_other(state):
    other = Store.open(state.folder)
    with (
        state.writing(),
        pytest.raises(RowlawError, match=f"STATE_LOCKED.*process {os.getpid()} is writing"),
        other.writing(),
    ):
        pass
    commit(other, 1)
    code = (
        f"from rowlaw.storage.store import Store\nwith Store.open({str(state.folder)!r}).writing(): "
        "print('in'); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "in\n"
        with pytest.raises(RowlawError, match=f"process {process.pid} is writing"), state.writing():
            pass
        assert seen(Store.open(state.folder)) == 1  # readers are not kept out
        process.kill()
        process.wait()
    commit(state, 2)  # a lock ends with its process
    assert seen(state) == 2


def test_a_writer_continues_from_what_others_have_written(state):
    other = Store.open(state.folder)
    commit(other, 1)
    commit(state, 2)
    assert seen(state) == 2


def test_killed_at_every_step(state):
    """Stopped before each step in turn: the state is the old or the new one, and the same generation can be written
    after that."""
    names = []
    commit(state, 1)
    arrays.listeners.append(names.append)
    try:
        commit(state, 2)
    finally:
        arrays.listeners.clear()
    assert len(names) > 10
    number = 2
    for last in range(len(names)):
        count = []

        def stop(name, count=count, last=last):
            count.append(name)
            if len(count) == last + 1:
                raise Killed(name)

        arrays.listeners.append(stop)
        try:
            commit(Store.open(state.folder), number + 1)
        except Killed:
            pass
        finally:
            arrays.listeners.clear()
        after = Store.open(state.folder)
        assert seen(after) in (number, number + 1)
        if seen(after) == number:
            commit(after, number + 1)
        number += 1
        assert seen(Store.open(state.folder)) == number
    assert len(os.listdir(state.data)) == 6


def test_a_full_disk_leaves_the_old_state(state, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(store, "_sync", full)
    with pytest.raises(RowlawError, match="STATE_NOT_WRITTEN.*as it was before.*No space left"):
        commit(state, 1)
    monkeypatch.undo()
    assert seen(Store.open(state.folder)) == 0
    commit(state, 1)


@pytest.mark.parametrize(
    ("damage", "condition", "words"),
    [
        (lambda text: "", "STATE_DAMAGED", "not readable"),
        (lambda text: text[: len(text) // 2], "STATE_DAMAGED", "not readable"),
        (lambda text: "[]", "STATE_DAMAGED", "not readable"),
        (lambda text: text.replace('"number": 0', '"number": 7'), "STATE_DAMAGED", "checksum"),
        (lambda text: json.dumps({**json.loads(text), "format": 99}), "STATE_FORMAT", "install a newer rowlaw"),
        (lambda text: json.dumps({**json.loads(text), "format": 0}), "STATE_FORMAT", "make the state anew"),
    ],
)
def test_a_damaged_manifest(state, damage, condition, words):
    path = state.folder / "manifest.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(RowlawError, match=words) as caught:
        Store.open(state.folder)
    assert caught.value.condition == condition


def test_damaged_files(state):
    large = max(state.data.iterdir(), key=lambda p: p.stat().st_size)
    os.truncate(large, 10)
    with pytest.raises(RowlawError, match="STATE_DAMAGED.*less than"):
        Store.open(state.folder)
    large.unlink()
    with pytest.raises(RowlawError, match="STATE_DAMAGED.*missing"):
        Store.open(state.folder)


def test_folders_that_are_no_states(tmp_path, state):
    with pytest.raises(RowlawError, match="NO_STATE.*no such folder"):
        Store.open(tmp_path / "nothing")
    with pytest.raises(RowlawError, match="NO_STATE"):
        Store.open(tmp_path)
    with pytest.raises(RowlawError, match="STATE_EXISTS.*holds a state"):
        Store.create(state.folder)
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(RowlawError, match="STATE_EXISTS.*not an empty folder"):
            Store.create(path)
    begun = Store.create(tmp_path / "begun")
    with pytest.raises(RowlawError, match="NO_STATE.*not finished"):
        Store.open(begun.folder)
    commit(Store.create(tmp_path / "begun"), 0)
    assert seen(Store.open(begun.folder)) == 0
