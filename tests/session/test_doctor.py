"""`doctor` on a healthy session; `session/test_session_starts.py` covers broken sessions."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import tidemark


def test_a_healthy_session_has_no_problems(spark: SparkSession) -> None:
    diagnosis = tidemark.doctor(spark)
    assert diagnosis.problems == ()
    assert diagnosis.ok
    checks = [finding.check for finding in diagnosis.findings]
    assert checks == [
        "python",
        "pyspark",
        "java",
        "jar",
        "setting",
        "class path",
        "extension",
        "settings",
    ]


def test_the_doctor_finds_the_running_session(spark: SparkSession) -> None:
    assert tidemark.doctor() == tidemark.doctor(spark)


def test_the_doctor_reports_a_failed_check_as_a_finding(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise RuntimeError("\n  the JVM is gone\n\tat java.lang")

    monkeypatch.setattr("tidemark._bridge.java_version", broken)
    diagnosis = tidemark.doctor(spark)
    assert [(p.check, p.code) for p in diagnosis.problems] == [("java", "CHECK_FAILED")]
    assert diagnosis.problems[0].found == "this check failed: RuntimeError: the JVM is gone"


def test_the_doctor_raises_nothing_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise ImportError("No module named 'pyspark'")

    monkeypatch.setattr("tidemark._bridge.running_session", absent)
    monkeypatch.setattr("tidemark._bridge.pyspark_version", absent)
    problems = tidemark.doctor().problems
    assert ("pyspark", "CHECK_FAILED") in [(p.check, p.code) for p in problems]


def test_the_doctor_prints_each_problem_with_its_code_and_fix(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    minor = ".".join(spark.version.split(".")[:2])
    monkeypatch.setattr("tidemark._bridge.tidemark_version", lambda _: "0.1.0 spark-9.9")
    text = str(tidemark.doctor(spark)).splitlines()
    assert text[0] == f"Tidemark {tidemark.__version__}"
    assert text[-3] == (
        "  PROBLEM  extension  The jar was built for Spark 9.9, but this is Spark "
        f"{minor} [TIDEMARK.SPARK_VERSION_MISMATCH]"
    )
    assert (
        text[-2].strip() == "Fix this by giving Spark the jar that tidemark.jars.jar_path() names."
    )


def test_the_doctor_reports_a_jar_from_another_release(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    minor = ".".join(spark.version.split(".")[:2])
    monkeypatch.setattr("tidemark._bridge.tidemark_version", lambda _: f"9.9.9 spark-{minor}")
    assert [p.code for p in tidemark.doctor(spark).problems] == ["JAR_VERSION_MISMATCH"]
