"""The jars the wheel carries: one thin jar per Spark minor, chosen by pyspark's version."""

from __future__ import annotations

import re
from pathlib import Path

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._version import __version__

EXTENSION = "io.tidemark.TidemarkExtension"
"""The class that `spark.sql.extensions` must name."""

_NAME = re.compile(r"tidemark-spark-(\d+\.\d+)_2\.13-(.+)\.jar")


def jar_directory() -> Path:
    """Where the wheel keeps its jars."""
    return Path(__file__).parents[1] / "_jars"


def minor_of(version: str) -> str:
    """`"4.3"` of `"4.3.0"`, `"4.3.0.dev1"` or `"4.3"`."""
    return ".".join(version.split(".")[:2])


def jar_minor(path: str) -> str | None:
    """The Spark minor a Tidemark jar was built for; None when the path is not a Tidemark jar.

    Only the file name counts: the same jar may be given as a path, a `file:` or an `hdfs:` URL.
    """
    found = _NAME.fullmatch(path.rsplit("/", 1)[-1])
    return found.group(1) if found else None


def jar_path(spark_version: str | None = None) -> str:
    """The path of the bundled jar that fits a Spark version.

    Use it to set `spark.jars` and `spark.sql.extensions` yourself, or to pass the jar to
    `spark-submit --jars`.

    Args:
        spark_version: A Spark version such as `"4.3"` or `"4.3.0"`. By default it is pyspark's.

    Returns:
        The absolute path of the jar.

    Raises:
        TidemarkError: `SPARK_NOT_SUPPORTED` if there are jars but none for this Spark minor,
            `PACKAGE_JAR_MISSING` if the package contains no jar, or one of another release.
    """
    minor = minor_of(spark_version or _bridge.pyspark_version())
    jar = jar_directory() / f"tidemark-spark-{minor}_2.13-{__version__}.jar"
    if jar.is_file():
        return str(jar)
    present = sorted(path.name for path in jar_directory().glob("tidemark-spark-*.jar"))
    minors = sorted({found for name in present if (found := jar_minor(name))})
    if minors and minor not in minors:
        raise TidemarkError(
            "SPARK_NOT_SUPPORTED",
            f"Tidemark {__version__} has no jar for Spark {minor}, only for {', '.join(minors)}",
            f"installing pyspark {minors[-1]} or a Tidemark that supports Spark {minor}",
            packageVersion=__version__,
            running=minor,
            available=", ".join(minors),
        )
    raise TidemarkError(
        "PACKAGE_JAR_MISSING",
        f"The package has no jar {jar.name} in {jar.parent} (there: {', '.join(present) or 'none'})",
        "installing the wheel, or by running `make package` in a source tree",
        jar=jar.name,
        folder=jar.parent,
        available=", ".join(present) or "none",
    )
