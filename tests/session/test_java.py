"""The Java version that Spark would use, and the refusal of a version that is too old."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.raising import raising

import tidemark
from tidemark._session import java


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A JDK folder whose `java` reports version 11 and that has no `release` file."""
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.22\" 2024-01-16' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path


def test_the_java_version_comes_from_the_java_command(java_home: Path) -> None:
    assert java.java_major() == 11


def test_the_java_version_comes_from_the_release_file_if_present(java_home: Path) -> None:
    (java_home / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.4"\n')
    assert java.java_major() == 21


def test_an_old_java_is_refused_with_a_clear_error(java_home: Path) -> None:
    with raising("JAVA_TOO_OLD", javaVersion=11):
        java.require_java()


def test_the_doctor_reports_an_old_java(java_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark._bridge.running_session", lambda: None)
    problems = tidemark.doctor().problems
    assert ("java", "JAVA_TOO_OLD") in [(found.check, found.code) for found in problems]


def test_a_missing_java_is_left_for_spark_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.java_major() is None
    java.require_java()


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25-ea", 25), ("?", None)]
)
def test_old_and_new_java_version_formats_are_parsed(text: str, major: int | None) -> None:
    assert java.parse_major(text) == major
