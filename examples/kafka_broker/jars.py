"""Where the jars are that ``make`` has copied: of the broker, and of Spark's connector to it."""

from __future__ import annotations

from pathlib import Path

from common.folder import ROOT

FOLDER = ROOT / "target" / "kafka"


def broker_jars() -> list[Path]:
    """The broker and all that it needs: a class path of its own."""
    return _jars("broker")


def connector_jars() -> list[str]:
    """What Spark needs to read from a broker, beside what it has."""
    return [str(jar) for jar in _jars("connector")]


def _jars(of: str) -> list[Path]:
    jars = sorted((FOLDER / of).glob("*.jar"))
    if not jars:
        raise SystemExit(
            f"There are no jars in {FOLDER / of}. "
            "Fix this by `build/sbt kafka/kafkaJars` or by starting the example with make."
        )
    return jars
