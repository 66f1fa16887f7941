"""The choice of the jar for a Spark version."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.raising import raising

import tidemark
from tidemark._session import jars

OURS = tidemark.__version__


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jars, "jar_directory", lambda: tmp_path)
    return tmp_path


def name(minor: str, version: str = OURS) -> str:
    return f"tidemark-spark-{minor}_2.13-{version}.jar"


@pytest.mark.parametrize("spark", ["4.3", "4.3.0", "4.3.7.dev0"])
def test_jar_path_selects_the_jar_for_the_spark_minor_version(folder: Path, spark: str) -> None:
    for minor in ("4.2", "4.3"):
        (folder / name(minor)).touch()
    assert tidemark.jars.jar_path(spark) == str(folder / name("4.3"))


def test_jar_path_uses_the_pyspark_version_by_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / name("4.2")).touch()
    monkeypatch.setattr("pyspark.__version__", "4.2.1")
    assert tidemark.jars.jar_path() == str(folder / name("4.2"))


def test_jar_path_says_that_the_package_has_no_jar(folder: Path) -> None:
    with raising("PACKAGE_JAR_MISSING", available="none"):
        tidemark.jars.jar_path("4.3")


def test_jar_path_says_that_the_package_has_the_jar_of_another_release(folder: Path) -> None:
    (folder / name("4.3", "0.0.9")).touch()
    with raising("PACKAGE_JAR_MISSING", available=name("4.3", "0.0.9")):
        tidemark.jars.jar_path("4.3")


def test_jar_path_raises_a_version_mismatch_with_jars_for_other_spark_versions_only(
    folder: Path,
) -> None:
    (folder / name("4.2")).touch()
    (folder / name("4.3")).touch()
    with raising("SPARK_NOT_SUPPORTED", running="5.0", available="4.2, 4.3"):
        tidemark.jars.jar_path("5.0.0")


@pytest.mark.parametrize(
    ("path", "minor"),
    [
        (f"/opt/jars/{name('4.3')}", "4.3"),
        (f"file:///opt/my%20jars/{name('4.2')}", "4.2"),
        (f"hdfs://nn/jars/{name('4.2', '0.2.0-SNAPSHOT')}", "4.2"),
        ("/opt/jars/delta-spark_2.13-4.0.0.jar", None),
        ("/opt/tidemark-spark-4.3_2.13-0.1.0.jar/other.jar", None),
    ],
)
def test_a_tidemark_jar_is_recognized_by_its_file_name(path: str, minor: str | None) -> None:
    assert jars.jar_minor(path) == minor


@pytest.mark.engine
def test_the_installed_package_contains_a_jar_for_the_installed_spark() -> None:
    assert Path(tidemark.jars.jar_path()).stat().st_size > 0
