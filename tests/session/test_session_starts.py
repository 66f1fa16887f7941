"""Correct and incorrect ways to start a session, each in its own Python process."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest
from support.processes import run_script

import tidemark

pytestmark = pytest.mark.engine

MINOR = ".".join(pyspark.__version__.split(".")[:2])
ACTIVE = f"{tidemark.__version__} spark-{MINOR}"


def submit() -> list[str]:
    return [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        "--jars",
        tidemark.jars.jar_path(),
    ]


@pytest.fixture(scope="module")
def no_jar() -> dict[str, Any]:
    return run_script("no_jar.py")


@pytest.fixture
def other_jar(tmp_path: Path) -> str:
    """A jar that does not belong to Tidemark."""
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("other/marker.txt", "here")
    return str(jar)


@pytest.mark.parametrize(
    ("session", "code", "problems"),
    [
        ("plain", "EXTENSION_NOT_SET", [["setting", "EXTENSION_NOT_SET"],
                                        ["class path", "JAR_MISSING"],
                                        ["extension", "EXTENSION_NOT_SET"]]),
        ("extension only", "JAR_MISSING", [["class path", "JAR_MISSING"],
                                           ["extension", "JAR_MISSING"]]),
        ("absent jar", "JAR_MISSING", [["class path", "JAR_MISSING"],
                                       ["extension", "JAR_MISSING"]]),
        ("jar too late", "SESSION_BEFORE_JAR", [["class path", "SESSION_BEFORE_JAR"],
                                                ["extension", "SESSION_BEFORE_JAR"]]),
    ],
)  # fmt: skip
def test_a_session_without_the_engine_is_refused_with_a_specific_code(
    no_jar: dict[str, Any], session: str, code: str, problems: list[list[str]]
) -> None:
    assert no_jar[session] == {"refused": code, "problems": problems}


def test_configure_refuses_a_jvm_started_without_the_jar(no_jar: dict[str, Any]) -> None:
    assert no_jar["configure with a session"] == "SESSION_BEFORE_JAR"
    assert no_jar["configure after stop"] == "SESSION_BEFORE_JAR"


def test_a_jvm_without_the_jar_needs_another_process_and_not_another_session(
    no_jar: dict[str, Any],
) -> None:
    for session in ("plain", "jar too late"):
        assert "another Python process" in no_jar["fixes"][session]
        assert "spark.stop()" not in no_jar["fixes"][session]


def test_the_doctor_checks_a_stopped_session_without_raising(no_jar: dict[str, Any]) -> None:
    assert "CHECK_FAILED" in no_jar["doctor after stop"]


@pytest.mark.more
def test_configure_keeps_settings_from_the_environment(tmp_path: Path, other_jar: str) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.extensions org.apache.spark.sql.NoSuchExtension\n"
    )
    found = run_script(
        "with_jar.py",
        "configure",
        SPARK_CONF_DIR=str(tmp_path),
        PYSPARK_SUBMIT_ARGS=f"--jars {other_jar} pyspark-shell",
    )
    assert (found["version"], found["problems"], found["again"]) == (ACTIVE, "", True)
    assert Path(other_jar).name in found["jars"]
    assert Path(tidemark.jars.jar_path()).name in found["jars"]
    assert found["extensions"].split(",") == [
        "org.apache.spark.sql.NoSuchExtension",
        tidemark.jars.EXTENSION,
    ]


@pytest.mark.more
def test_spark_submit_with_jars_works_with_configure() -> None:
    found = run_script("with_jar.py", "configure", launcher=submit())
    assert (found["version"], found["problems"], found["again"]) == (ACTIVE, "", True)
    assert found["jars"].count("tidemark-spark") == 1


@pytest.mark.more
def test_spark_submit_with_the_jar_and_the_extension_needs_no_configure() -> None:
    setting = f"spark.sql.extensions={tidemark.jars.EXTENSION}"
    found = run_script("with_jar.py", "as it is", launcher=[*submit(), "--conf", setting])
    assert (found["version"], found["problems"], found["again"]) == (ACTIVE, "", True)
    assert found["extensions"] == tidemark.jars.EXTENSION


@pytest.mark.more
def test_configure_refuses_a_session_that_runs_without_the_extension() -> None:
    found = run_script("with_jar.py", "jar only", tidemark.jars.jar_path())
    assert found["configure"] == "EXTENSION_NOT_SET"
    assert "calling `spark.stop()`" in found["fix"]
    # The fix from the error message works: after that session is stopped, the jar can be used.
    assert found["again"] is True


@pytest.mark.more
def test_a_jar_for_another_spark_version_stops_the_session() -> None:
    jars = Path(tidemark.jars.jar_path()).parent.glob("tidemark-spark-*.jar")
    others = [str(jar) for jar in jars if f"spark-{MINOR}_" not in jar.name]
    assert others, "this build of the package carries a jar for one Spark minor only"
    found = run_script("with_jar.py", "other minor", others[0])
    assert found.get("code") == "SPARK_VERSION_MISMATCH", found
    assert "[TIDEMARK.SPARK_VERSION_MISMATCH] This Tidemark jar is for " in found["text"]
    # PySpark shortens JVM errors once it has a session. There is none yet, so the engine omits its own stack trace.
    assert len(found["text"].strip().splitlines()) <= 2, found["text"]
