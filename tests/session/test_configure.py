"""`configure` before any JVM runs: the settings it adds and the settings it keeps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.raising import raising

import tidemark
from tidemark import TidemarkError, _bridge
from tidemark._session import jars
from tidemark.jars import EXTENSION

OURS = "/wheel/tidemark-spark-4.3_2.13-0.1.0.jar"


@pytest.fixture(autouse=True)
def nothing_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A fresh Python process with PySpark 4.3: no JVM, and no Spark settings in the environment."""
    monkeypatch.setattr(_bridge, "jvm_is_running", lambda: False)
    monkeypatch.setattr(_bridge, "pyspark_version", lambda: "4.3.0")
    monkeypatch.setattr("tidemark._session.configure.jar_path", lambda: OURS)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def configured(*settings: tuple[str, str]) -> dict[str, str]:
    builder = SparkSession.builder
    for key, value in settings:
        builder = builder.config(key, value)
    assert tidemark.configure(builder) is builder
    return _bridge.builder_options(builder)


def test_configure_adds_the_jar_and_the_extension_to_an_empty_builder() -> None:
    assert configured() == {"spark.jars": OURS, "spark.sql.extensions": EXTENSION}


def test_configure_keeps_jars_that_are_already_set() -> None:
    assert configured(("spark.jars", "/a.jar, /b.jar"))["spark.jars"] == f"/a.jar,/b.jar,{OURS}"


def test_configure_keeps_extensions_that_are_already_set() -> None:
    options = configured(("spark.sql.extensions", "io.delta.Delta"))
    assert options["spark.sql.extensions"] == f"io.delta.Delta,{EXTENSION}"


def test_a_second_call_to_configure_changes_nothing() -> None:
    builder = tidemark.configure(SparkSession.builder.config("spark.jars", "/a.jar"))
    once = _bridge.builder_options(builder)
    assert _bridge.builder_options(tidemark.configure(builder)) == once


def test_configure_does_not_add_a_second_tidemark_jar() -> None:
    theirs = "hdfs://nn/jars/tidemark-spark-4.3_2.13-0.1.0.jar"
    assert configured(("spark.jars", theirs))["spark.jars"] == theirs


def test_configure_refuses_a_jar_built_for_another_spark_version() -> None:
    theirs = "/opt/tidemark-spark-4.2_2.13-0.1.0.jar"
    with raising("SPARK_VERSION_MISMATCH", builtFor="4.2", running="4.3"):
        configured(("spark.jars", theirs))


def test_configure_keeps_settings_from_spark_defaults_conf(nothing_started: Path) -> None:
    (nothing_started / "spark-defaults.conf").write_text(
        "# site settings\n"
        "spark.jars            /site.jar\n"
        "spark.sql.extensions=site.Extension\n"
        "spark.other : x\n"
    )
    assert configured() == {
        "spark.jars": f"/site.jar,{OURS}",
        "spark.sql.extensions": f"site.Extension,{EXTENSION}",
    }


def test_builder_settings_override_spark_defaults_conf(nothing_started: Path) -> None:
    (nothing_started / "spark-defaults.conf").write_text("spark.jars /site.jar\n")
    assert configured(("spark.jars", "/a.jar"))["spark.jars"] == f"/a.jar,{OURS}"


def test_a_properties_file_replaces_spark_defaults_conf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my.conf").write_text("spark.jars /mine.jar\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {tmp_path}/my.conf pyspark-shell")
    assert configured()["spark.jars"] == f"/mine.jar,{OURS}"


def test_configure_adds_the_tidemark_jar_to_jars_in_submit_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # This --jars overrides the builder's setting: without the change the driver would miss our jar.
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /a.jar,/b.jar --verbose pyspark-shell")
    assert configured(("spark.jars", "/c.jar"))["spark.jars"] == f"/c.jar,/a.jar,/b.jar,{OURS}"
    assert (
        os.environ["PYSPARK_SUBMIT_ARGS"] == f"--jars /a.jar,/b.jar,{OURS} --verbose pyspark-shell"
    )


def test_configure_keeps_settings_from_submit_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS",
        "--conf spark.jars=/a.jar --conf 'spark.sql.extensions=site.One, site.Two' pyspark-shell",
    )
    assert configured() == {
        "spark.jars": f"/a.jar,{OURS}",
        "spark.sql.extensions": f"site.One,site.Two,{EXTENSION}",
    }
    assert f"spark.jars=/a.jar,{OURS} " in os.environ["PYSPARK_SUBMIT_ARGS"]


def test_configure_leaves_submit_arguments_without_jars_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-memory 1g   pyspark-shell")
    configured()
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--driver-memory 1g   pyspark-shell"


def test_configure_refuses_a_remote_spark_connect_server() -> None:
    with pytest.raises(TidemarkError) as caught:
        tidemark.configure(SparkSession.builder.remote("sc://spark.example:15002"))
    assert caught.value.code == "UNSUPPORTED_ON_CONNECT"


def test_configure_adds_the_jar_to_a_local_spark_connect_server() -> None:
    builder = tidemark.configure(SparkSession.builder.remote("local[2]"))
    assert _bridge.builder_options(builder)["spark.jars"] == OURS


def test_configure_refuses_an_old_java_before_the_jvm_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tidemark._session.java.java_major", lambda: 11)
    with pytest.raises(TidemarkError) as caught:
        configured()
    assert caught.value.code == "JAVA_TOO_OLD"


def test_configure_refuses_a_package_without_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark._session.configure.jar_path", tidemark.jars.jar_path)
    monkeypatch.setattr(jars, "jar_directory", lambda: tmp_path)
    with pytest.raises(TidemarkError) as caught:
        configured()
    assert caught.value.code == "PACKAGE_JAR_MISSING"
