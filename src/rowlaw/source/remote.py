"""What is wrong when Spark cannot read an address: the cause out of a Java stack trace, and the package that is
missing."""

from __future__ import annotations

import re
from pathlib import Path

from rowlaw.errors import RowlawError

_HADOOP = "3.4.2"  # the version that is named where Spark's own cannot be found out
# scheme -> the package that reads it, {hadoop} stands for Spark's version of Hadoop
_PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws:{hadoop}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26",
    "abfs": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "abfss": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "wasb": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "wasbs": "org.apache.hadoop:hadoop-azure:{hadoop}",
}
_MISSING = re.compile(r"ClassNotFoundException|No FileSystem for scheme|NoClassDefFoundError")
_NOISE = re.compile(r"^(?:An error occurred while calling|py4j|\s*at |:\s*$|Traceback|JVM stacktrace)")
_WRAPPER = re.compile(r"^[:\s]*(?:[\w$]+\.)*[\w$]+(?:Exception|Error): ")
_CAUSED = re.compile(r"Caused by: (.+)")


def storage_error(path: str, error: Exception) -> RowlawError:
    """The error about an address that Spark could not read, with its cause and the remedy."""
    scheme = path.split(":", 1)[0].casefold()
    text = str(error)
    if scheme == "s3":
        return RowlawError(
            "REMOTE_STORAGE", path=path, cause=_cause(text), remedy=f"write s3a://{path.split('://', 1)[-1]}"
        )
    if scheme in ("http", "https", "ftp"):
        return RowlawError(
            "REMOTE_STORAGE", path=path, cause=f"it reads no {scheme} addresses", remedy="download the file first"
        )
    package = _PACKAGES.get(scheme)
    if package is not None and _MISSING.search(text):
        name = package.format(hadoop=_hadoop_version())
        remedy = f"add the package {name}, for example: export PYSPARK_SUBMIT_ARGS='--packages {name} pyspark-shell'"
        return RowlawError("REMOTE_STORAGE", path=path, cause=_cause(text), remedy=remedy)
    if package is not None:
        remedy = "check the address, and that the credentials are in Spark's configuration or in the environment"
        return RowlawError("REMOTE_STORAGE", path=path, cause=_cause(text), remedy=remedy)
    return RowlawError("BAD_FILE", path=path, problem=_cause(text))


def _cause(text: str) -> str:
    """The innermost cause of a Java error, in one line."""
    caused = _CAUSED.findall(text)
    lines = [caused[-1]] if caused else [line for line in text.splitlines() if line.strip() and not _NOISE.match(line)]
    cause = lines[0].strip() if lines else text.strip()
    while _WRAPPER.match(cause) and not cause.startswith("java.lang.ClassNotFoundException"):
        cause = _WRAPPER.sub("", cause, count=1)
    return cause.removeprefix("java.lang.ClassNotFoundException: ").removeprefix(": ")[:300]


def _hadoop_version() -> str:
    """The version of Hadoop that PySpark brings."""
    import pyspark

    jars = Path(pyspark.__file__).parent.joinpath("jars").glob("hadoop-client-api-*.jar")
    return next((jar.stem.removeprefix("hadoop-client-api-") for jar in jars), _HADOOP)
