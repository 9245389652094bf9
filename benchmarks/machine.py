"""Facts about the machine that a reader needs to judge a number. No host names, no users, no paths."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

PACKAGES = ("rowlaw", "pyspark", "numba", "numpy", "pyarrow", "pandas", "duckdb", "desbordante")


def facts() -> dict[str, Any]:
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": _cpu(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load_before": round(psutil.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "java": _java(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _cpu() -> str | None:
    info = Path("/proc/cpuinfo")
    found = (
        re.search(r"^model name\s*:\s*(.+)$", info.read_text(encoding="utf-8"), re.MULTILINE) if info.exists() else None
    )
    return found.group(1) if found else platform.processor() or None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if program is None:
        return None
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', told)
    return found.group(1) if found else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
