"""The package itself: what an import costs, the error all refusals share, the private borders."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import tidemark
from tidemark import TidemarkError, error_code, error_parameters

PACKAGE = Path(tidemark.__file__).parent


def test_importing_tidemark_imports_no_pyspark() -> None:
    code = "import sys, tidemark; print([m for m in sys.modules if m.startswith('py')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pyspark" not in done.stdout
    assert "py4j" not in done.stdout


def test_the_version_is_the_one_pip_knows() -> None:
    assert tidemark.__version__ == version("tidemark")


def test_nothing_but_pyspark_is_needed() -> None:
    assert [re.split(r"[<>=~!; ]", one)[0] for one in requires("tidemark") or []] == ["pyspark"]


def test_the_package_says_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_only_the_bridge_touches_py4j_and_sql() -> None:
    crossing = re.compile(r"_jvm\b|_jsq|_jdf|_jsparkSession|\.sql\(|_gateway|py4j|_instantiated")
    guilty = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if path.name != "_bridge.py" and crossing.search(path.read_text())
    ]
    assert guilty == []


def test_an_error_reads_as_code_sentence_and_way_out() -> None:
    error = TidemarkError("JAR_MISSING", "The package has no jar", "installing the wheel")
    assert str(error) == (
        "[TIDEMARK.JAR_MISSING] The package has no jar. Fix this by installing the wheel."
    )
    assert (error.code, error.fix) == ("JAR_MISSING", "installing the wheel")


def test_an_error_survives_pickling() -> None:
    error = TidemarkError("JAR_MISSING", "The package has no jar", "installing the wheel", jar="x")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code) == (str(error), "JAR_MISSING")
    assert again.parameters == {"jar": "x"}


def test_the_parameters_of_an_error_are_text_and_read_only() -> None:
    error = TidemarkError("JAVA_TOO_OLD", "Java 8 was found", "setting JAVA_HOME", javaVersion=8)
    assert error.parameters == {"javaVersion": "8"}
    with pytest.raises(TypeError):
        error.parameters["javaVersion"] = "17"  # type: ignore[index]


def test_the_code_of_a_jvm_error_is_read_from_its_text() -> None:
    text = "Job aborted.\n\tat x.Y\nCaused by: z: [TIDEMARK.DUPLICATE_KEY] The key. Fix this by ..."
    assert error_code(RuntimeError(text)) == "DUPLICATE_KEY"


def test_the_code_is_found_in_a_cause() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = TidemarkError("INVALID_DELAY", "The delay is negative", "giving another")
    assert error_code(error) == "INVALID_DELAY"


def test_the_parameters_are_found_in_a_cause() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = TidemarkError("INVALID_DELAY", "The delay is negative", "-", value="-1 day")
    assert error_parameters(error) == {"value": "-1 day"}


def test_the_parameters_of_pysparks_errors_are_read_where_the_condition_is_ours() -> None:
    ours = PySparkException("text", "TIDEMARK.DUPLICATE_KEY", {"key": "k"})
    sparks = PySparkException("text", "STREAM_FAILED", {"id": "7", "message": "text"})
    assert error_parameters(ours) == {"key": "k"}
    assert error_parameters(sparks) == {}
    sparks._cause = ours  # type: ignore[attr-defined]
    assert error_parameters(sparks) == {"key": "k"}


def test_other_errors_have_no_code_and_no_parameters() -> None:
    assert error_code(ValueError("[SOMETHING.ELSE] not ours")) is None
    assert error_parameters(ValueError("[SOMETHING.ELSE] not ours")) == {}
