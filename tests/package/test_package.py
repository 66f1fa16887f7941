"""The package itself: its imports, its common error class, and its internal module boundaries."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
import zipfile
from collections import Counter
from functools import partial
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import tidemark
import tidemark_marks
from tidemark import TidemarkError
from tidemark.errors import error_code, error_parameters

PACKAGE = Path(tidemark.__file__).parent
MARKS = Path(tidemark_marks.__file__).parent


def test_importing_tidemark_does_not_import_pyspark() -> None:
    code = "import sys, tidemark; print([m for m in sys.modules if m.startswith('py')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pyspark" not in done.stdout
    assert "py4j" not in done.stdout


@pytest.mark.engine
def test_the_package_version_matches_the_installed_distribution() -> None:
    assert tidemark.__version__ == version("tidemark")


@pytest.mark.engine
def test_pyspark_and_mark_logs_are_the_only_required_dependencies() -> None:
    required = [
        requirement for requirement in requires("tidemark") or [] if "extra ==" not in requirement
    ]
    assert [re.split(r"[<>=~!; ]", requirement)[0] for requirement in required] == [
        "pyspark",
        "tidemark-marks",
    ]


@pytest.mark.engine
def test_the_jar_has_the_license() -> None:
    with zipfile.ZipFile(tidemark.jars.jar_path()) as jar:
        assert "Apache License" in jar.read("META-INF/LICENSE").decode()


def test_the_package_has_a_py_typed_marker() -> None:
    assert (PACKAGE / "py.typed").exists()


def imported(package: Path, room: str = "") -> set[str]:
    """The modules that a package imports, or a room of it. `from a import b` is `a.b` where that is a module too."""
    found = set()
    for file in package.joinpath(room).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module == "tidemark":
                found |= {f"tidemark.{name.name}" for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
    return found


def test_mark_logs_need_no_other_package() -> None:
    allowed = {"tidemark_marks", "confluent_kafka", *sys.stdlib_module_names}
    assert {name for name in imported(MARKS) if name.split(".")[0] not in allowed} == set()


def test_asynchronous_calls_use_little_of_the_rest() -> None:
    found = {name for name in imported(PACKAGE, "_calls") if name.startswith("tidemark.")}
    rest = {name for name in found if not name.startswith("tidemark._calls")}
    assert rest == {
        *("tidemark._bridge", "tidemark._errors"),
        *("tidemark._watermark.columns", "tidemark._watermark.durations"),
    }


def test_only_the_bridge_module_uses_py4j_and_sql() -> None:
    crossing = re.compile(r"_jvm\b|_jsq|_jdf|_jsparkSession|\.sql\(|_gateway|py4j|_instantiated")
    guilty = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if path.name != "_bridge.py" and crossing.search(path.read_text())
    ]
    assert guilty == []


def test_tidemark_offers_each_name_of_mark_logs() -> None:
    assert set(tidemark.marks.__all__) == set(tidemark_marks.__all__) - {
        "TidemarkError",
        "__version__",
    }


def test_an_error_message_contains_a_code_a_sentence_and_a_fix() -> None:
    error = TidemarkError("JAR_MISSING", "The package has no jar", "installing the wheel")
    assert str(error) == (
        "[TIDEMARK.JAR_MISSING] The package has no jar. Fix this by installing the wheel."
    )
    assert (error.code, error.fix) == ("JAR_MISSING", "installing the wheel")


def test_an_error_survives_pickling() -> None:
    error = TidemarkError("JAR_MISSING", "The package has no jar", "installing the wheel", jar="x")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code) == (str(error), "JAR_MISSING")
    assert copy.parameters == {"jar": "x"}


def test_error_parameters_are_read_only_strings() -> None:
    error = TidemarkError("JAVA_TOO_OLD", "Java 8 was found", "setting JAVA_HOME", javaVersion=8)
    assert error.parameters == {"javaVersion": "8"}
    with pytest.raises(TypeError):
        error.parameters["javaVersion"] = "17"  # type: ignore[index]


def test_the_error_code_of_a_jvm_error_is_read_from_its_message() -> None:
    text = "Job aborted.\n\tat x.Y\nCaused by: z: [TIDEMARK.DUPLICATE_KEY] The key. Fix this by ..."
    assert error_code(RuntimeError(text)) == "DUPLICATE_KEY"


def test_the_error_code_is_found_in_the_cause_of_an_error() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = TidemarkError("INVALID_DELAY", "The delay is negative", "giving another")
    assert error_code(error) == "INVALID_DELAY"


def test_error_parameters_are_found_in_the_cause_of_an_error() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = TidemarkError("INVALID_DELAY", "The delay is negative", "-", value="-1 day")
    assert error_parameters(error) == {"value": "-1 day"}


def test_error_parameters_of_pyspark_errors_are_read_for_tidemark_conditions_only() -> None:
    ours = PySparkException("text", "TIDEMARK.DUPLICATE_KEY", {"key": "k"})
    sparks = PySparkException("text", "STREAM_FAILED", {"id": "7", "message": "text"})
    assert error_parameters(ours) == {"key": "k"}
    assert error_parameters(sparks) == {}
    sparks._cause = ours  # type: ignore[attr-defined]
    assert error_parameters(sparks) == {"key": "k"}


def test_errors_from_other_sources_have_no_tidemark_code_or_parameters() -> None:
    assert error_code(ValueError("[SOMETHING.ELSE] not ours")) is None
    assert error_parameters(ValueError("[SOMETHING.ELSE] not ours")) == {}


def test_each_public_name_is_in_one_module_and_what_a_job_calls_is_at_the_top() -> None:
    modules = (tidemark, *map(partial(getattr, tidemark), ("errors", "jars", "marks", "results")))
    names = Counter(name for module in modules for name in module.__all__)
    assert {name for name, count in names.items() if count > 1} == {"TidemarkError"}
    assert all(hasattr(module, name) for module in modules for name in module.__all__)
    assert len(tidemark.__all__) <= 27
