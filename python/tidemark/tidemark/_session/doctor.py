"""`doctor`: checks that versions, jar and extension fit together, and says how to fix what does not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._session import active, java, settings
from tidemark._session.jars import EXTENSION, jar_path
from tidemark._shown import InWords
from tidemark._version import __version__
from tidemark_marks.shared import printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: What was checked, e.g. `"jar"`.
        ok: Whether it is correct.
        found: What was found, in words.
        code: The error code of a problem, or None.
        fix: The text after "Fix this by", or None.
    """

    check: str
    ok: bool
    found: str
    code: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        line = f"{'ok' if self.ok else 'PROBLEM':<8} {self.check:<10} {self.found}"
        if self.ok:
            return line
        return f"{line} [TIDEMARK.{self.code}]\n{'':<19} Fix this by {self.fix}."


@dataclass(frozen=True, repr=False)
class Diagnosis(InWords):
    """All findings, in the order in which they depend on each other.

    Attributes:
        findings: The results. The first problem usually causes those after it.
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return all(finding.ok for finding in self.findings)

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that are problems."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def __str__(self) -> str:
        return "\n".join(
            [f"Tidemark {__version__}", *(f"  {printable(line)}" for line in self._lines())],
        )

    def _lines(self) -> Iterator[str]:
        for finding in self.findings:
            yield from str(finding).split("\n")


def doctor(spark: SparkSession | None = None) -> Diagnosis:
    """Checks versions, jar, extension and settings. It never raises an error, whatever is broken.

    Args:
        spark: The session to check, classic or Spark Connect. By default it is the running one. If
            there is none, only what is known without a session is checked.

    Returns:
        The findings: `print` it, or read `ok`, `problems` and `findings`.

    Example:
        >>> print(tidemark.doctor(spark))  # doctest: +SKIP
    """
    session = spark if spark is not None else _running_session()
    checks: dict[str, Callable[[], Finding]] = {
        "python": _check_python,
        "pyspark": _check_pyspark,
        "java": lambda: _check_java(session),
        "jar": _check_jar,
    }
    if session is not None:
        checks |= {
            "setting": lambda: _check_setting(session),
            "class path": lambda: _check_class_path(session),
            "extension": lambda: _check_active(session),
            "settings": lambda: _check_settings(session),
        }
    return Diagnosis(tuple(_looked_at(check, look) for check, look in checks.items()))


def _running_session() -> SparkSession | None:
    try:
        return _bridge.running_session()
    except Exception:  # noqa: BLE001
        # Without pyspark there is no session either; the checks say what is wrong.
        return None


def _looked_at(check: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except Exception as error:  # noqa: BLE001
        # A session that has been stopped answers nothing but errors, of many kinds.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        found = f"this check failed: {type(error).__name__}: {lines[0] if lines else 'no text'}"
        fix = "solving that error, or by passing a running session if this one was stopped"
        return Finding(check, False, found, "CHECK_FAILED", fix)


def _problem(check: str, error: TidemarkError) -> Finding:
    return Finding(check, False, error.message, error.code, error.fix)


def _check_python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", True, found)


def _check_pyspark() -> Finding:
    return Finding("pyspark", True, _bridge.pyspark_version())


def _check_java(session: SparkSession | None) -> Finding:
    found = _bridge.java_version(session) if session is not None else None
    major = java.parse_major(found) if found else java.java_major()
    if major is None:
        fix = f"installing a JDK {java.OLDEST_JAVA} or 21 and setting JAVA_HOME to it"
        return Finding("java", False, "no Java in JAVA_HOME or on the path", "JAVA_TOO_OLD", fix)
    if major < java.OLDEST_JAVA:
        return _problem("java", java.too_old(major))
    return Finding("java", True, found or str(major))


def _check_jar() -> Finding:
    try:
        return Finding("jar", True, jar_path())
    except TidemarkError as error:
        return _problem("jar", error)


def _check_setting(session: SparkSession) -> Finding:
    named = settings.split(_bridge.setting(session, "spark.sql.extensions"))
    if EXTENSION in named:
        return Finding("setting", True, f"spark.sql.extensions names {EXTENSION}")
    return _problem("setting", active.why_inactive(session))


def _check_class_path(session: SparkSession) -> Finding:
    loaded = _bridge.tidemark_version(session) is not None
    if loaded or (not _bridge.is_connect(session) and _bridge.jvm_can_load(EXTENSION)):
        return Finding("class path", True, f"Spark can load {EXTENSION}")
    return _problem("class path", active.why_no_class(session))


def _check_active(session: SparkSession) -> Finding:
    version = _bridge.tidemark_version(session)
    if version is None:
        cause = active.why_inactive(session).code
        found = "not active: queries of this session run as on stock Spark"
        return Finding("extension", False, found, cause, "solving the problem above")
    problem = active.mismatch(session, version) or active.other_release(version)
    if problem is not None:
        return _problem("extension", problem)
    return Finding("extension", True, f"active: {version}")


def _check_settings(session: SparkSession) -> Finding:
    if _bridge.tidemark_version(session) is None:
        return Finding("settings", True, "spark.tidemark.* has no effect without the extension")
    found = _bridge.settings_problem(session)
    if found is None:
        return Finding("settings", True, "spark.tidemark.* settings are valid")
    what = found["what"].rstrip(".")
    return Finding("settings", False, what, found["code"], found["fix"])
