"""The workflows and forms in `.github`: they parse, and the workflows run existing Makefile targets."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [GITHUB / "ISSUE_TEMPLATE" / name for name in ("bug.yml", "feature.yml")]
MAKEFILE = (ROOT / "Makefile").read_text()
MATRIX = re.search(r"^MATRIX := (.*)$", MAKEFILE, flags=re.MULTILINE)
SPARKS = MATRIX.group(1).split() if MATRIX else []
TARGETS = {
    *re.findall(r"^([a-z0-9-]+):", MAKEFILE, flags=re.MULTILINE),
    *(f"test-pyspark-{spark}" for spark in SPARKS),
}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def commands(job: dict[str, Any]) -> list[str]:
    """The commands of a job, once for each cell of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    steps = [step["run"] for step in job["steps"] if "run" in step]
    found = []
    for cell in product(*matrix.values()):
        values = dict(zip(matrix, cell, strict=True))
        found += [
            re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda m, v=values: v[m.group(1)], step)
            for step in steps
        ]
    return found


ALL = [
    command
    for workflow in WORKFLOWS
    for job in read(workflow)["jobs"].values()
    for command in commands(job)
]


def test_the_nightly_and_test_workflows_exist() -> None:
    assert [path.stem for path in WORKFLOWS] == ["nightly", "test"]


@pytest.mark.parametrize("command", ALL)
def test_workflows_run_only_makefile_targets(command: str) -> None:
    words = command.split(maxsplit=2)
    assert words[0] == "make"
    assert words[1] in TARGETS


def test_the_workflows_run_the_checks_required_for_every_change() -> None:
    assert {"make lint", "make test"} <= set(ALL)


def test_each_night_runs_every_part_of_what_make_test_leaves_out() -> None:
    parts = re.search(r"^PARTS := (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert parts
    nightly = read(GITHUB / "workflows" / "nightly.yml")["jobs"]["nightly"]
    assert set(parts.group(1).split()) <= set(nightly["strategy"]["matrix"]["target"])


def test_the_workflows_test_every_spark_version_in_the_matrix() -> None:
    found = {match.group(1) for c in ALL if (match := re.match(r"make test-pyspark-(\S+)", c))}
    assert SPARKS
    assert found == set(SPARKS)


def test_the_page_on_installing_says_what_the_workflows_test() -> None:
    text = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
    table = text.split("## Versions")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|")
    ]
    jobs = read(GITHUB / "workflows" / "test.yml")["jobs"]
    javas = [f"Java {java}" for java in jobs["test"]["strategy"]["matrix"]["java"]]
    assert rows[0] == ["Spark", *javas, "Python"]
    minors = {spark.rpartition(".")[0] for spark in SPARKS}
    of_rows = {row[0]: row for row in rows[2:]}
    assert minors < set(of_rows)
    # `make test` runs Scala's tests on one Spark, and Python's on the newest one. The others have a job each.
    assert {spark for spark, row in of_rows.items() if "all Scala" in row[1]} == {"4.2"}
    assert '-m "not more"' in jobs["spark"]["steps"][-1]["run"]
    for spark in minors:
        assert "the Python tests of `make test`" in of_rows[spark][1]
    action = read(GITHUB / "actions" / "setup" / "action.yml")
    python = action["inputs"]["python"]["default"]
    assert all(f"tested on {python}" in row[3] for row in of_rows.values())


def test_workflows_pin_actions_of_others_by_commit() -> None:
    used = [
        action
        for file in GITHUB.rglob("*.yml")
        for action in re.findall(r"uses: (\S+)", file.read_text())
        if not action.startswith("./")
    ]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []


def test_workflows_have_read_only_permissions() -> None:
    for workflow in WORKFLOWS:
        assert read(workflow)["permissions"] == {"contents": "read"}, workflow.name


def test_every_workflow_job_uses_the_shared_setup() -> None:
    action = read(GITHUB / "actions" / "setup" / "action.yml")
    assert action["runs"]["using"] == "composite"
    for workflow in WORKFLOWS:
        for job in read(workflow)["jobs"].values():
            assert "./.github/actions/setup" in [step.get("uses") for step in job["steps"]]
            assert job["timeout-minutes"] > 0


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_every_issue_form_has_a_required_field(form: Path) -> None:
    page = read(form)
    assert page["name"]
    assert page["description"]
    fields = [field for field in page["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert any(field.get("validations", {}).get("required") for field in fields)
