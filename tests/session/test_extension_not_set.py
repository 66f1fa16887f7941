"""What helps a session without the extension: it depends on the JVM that the session runs in."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from tidemark import TidemarkError, _bridge
from tidemark._session.active import require_extension
from tidemark.jars import EXTENSION

STOP = "calling `spark.stop()`, and building the session again with tidemark.configure("
PROCESS = "calling tidemark.configure before the first session of another Python process"
SUBMIT = "passing the path that tidemark.jars.jar_path() returns to `spark-submit --jars`"
SERVER = "starting the Spark Connect server with `--jars`"


class Session:
    """A session of which only settings are read, on classic Spark or on a Connect server."""


def refusal(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], **answers: Any) -> Any:
    """The error of a session without the extension, with these settings and such a JVM."""
    session = {
        "tidemark_version": None,
        "is_submitted": False,
        "is_local_connect": False,
        **answers,
    }
    for name, answer in session.items():
        monkeypatch.setattr(_bridge, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(_bridge, "setting", lambda _, key: settings.get(key, ""))
    with pytest.raises(TidemarkError) as caught:
        require_extension(cast(SparkSession, Session()))
    return caught.value


@pytest.mark.parametrize(
    ("answers", "fix"),
    [
        ({"is_connect": False, "jvm_can_load": True}, STOP),
        ({"is_connect": False, "jvm_can_load": True, "is_submitted": True}, STOP),
        ({"is_connect": False, "jvm_can_load": False}, PROCESS),
        ({"is_connect": False, "jvm_can_load": False, "is_submitted": True}, SUBMIT),
        ({"is_connect": True, "is_local_connect": True, "jvm_can_load": True}, STOP),
        ({"is_connect": True, "is_local_connect": True, "jvm_can_load": False}, PROCESS),
        ({"is_connect": True}, SERVER),
    ],
)
def test_the_way_out_fits_the_jvm_of_the_session(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], fix: str
) -> None:
    error = refusal(monkeypatch, {}, **answers)
    assert error.code == "EXTENSION_NOT_SET"
    assert error.fix.startswith(fix)


@pytest.mark.parametrize(("is_submitted", "fix"), [(False, PROCESS), (True, SUBMIT)])
def test_a_jar_that_was_set_too_late_needs_another_jvm(
    monkeypatch: pytest.MonkeyPatch, is_submitted: bool, fix: str
) -> None:
    settings = {
        "spark.sql.extensions": EXTENSION,
        "spark.jars": "hdfs://nn/tidemark-spark-4.3_2.13-0.1.0.jar",
    }
    error = refusal(monkeypatch, settings, is_connect=False, is_submitted=is_submitted)
    assert error.code == "SESSION_BEFORE_JAR"
    assert error.fix.startswith(fix)
