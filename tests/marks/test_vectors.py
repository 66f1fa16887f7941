"""The conformance vectors about marks: Pravega's rules, and which marks of a log count, and drawn histories."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from support.marks_vectors import DRAWN, FOLDER, run


def test_all_vectors_about_marks_pass_and_none_is_left_out() -> None:
    outcome = run([FOLDER / "conformance.json", FOLDER / "noted.json", DRAWN])
    assert outcome.failed == []
    assert outcome.not_run == []
    assert {"pv-w-01", "pv-w-03", "pv-r-01", "pv-r-02"} <= set(outcome.passed)
    assert len(outcome.passed) == 4 + 35 + 50


def test_a_vector_that_expects_something_else_fails(tmp_path: Path) -> None:
    content = json.loads((FOLDER / "conformance.json").read_text(encoding="utf-8"))
    suites = [suite for suite in content["suites"] if suite["suite"].startswith("pravega.")]
    suites.append(json.loads((FOLDER / "noted.json").read_text(encoding="utf-8"))["suites"][0])
    vectors = {vector["id"]: vector for suite in suites for vector in suite["vectors"]}
    wrong = copy.deepcopy(vectors)
    wrong["pv-w-01"]["steps"][3][2]["lower"] = 99
    wrong["pv-w-03"]["rows"][2]["active"] = True
    wrong["pv-r-01"]["cases"][0][1] = 0
    wrong["pv-r-02"]["steps"][3][2] = 10
    wrong["nt-01"]["steps"][0]["lower"] = 100
    for name in ("pv-w-01", "pv-w-03", "pv-r-01", "pv-r-02", "nt-01"):
        (suite,) = (s["suite"] for s in suites if any(v["id"] == name for v in s["vectors"]))
        file = tmp_path / "vectors.json"
        file.write_text(json.dumps({"suites": [{"suite": suite, "vectors": [wrong[name]]}]}))
        outcome = run([file])
        assert [line.split()[0] for line in outcome.failed] == [name]


def test_a_vector_with_an_unknown_field_or_operation_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "vectors.json"
    vectors = [
        {"id": "x-1", "marks": [], "steps": [["sleep"]]},
        {"id": "x-2", "marks": [], "steps": [], "twice": True},
    ]
    file.write_text(json.dumps({"suites": [{"suite": "pravega.reader", "vectors": vectors}]}))
    outcome = run([file])
    assert [line.split(":")[0] for line in outcome.not_run] == ["x-1", "x-2"]
    assert outcome.passed == [] and outcome.failed == []
