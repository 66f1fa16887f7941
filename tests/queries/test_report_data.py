"""The data of a report: `ReportData` has each field that the engine writes."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stalled import stalled as stalled
from support.streams import Stepper

import tidemark
from tidemark._queries import report_data
from tidemark._queries.late import _of_plan
from tidemark.results import Report, ReportData

GOLDEN = Path(__file__).parents[2] / "jvm" / "src" / "test" / "resources" / "golden" / "reports"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def undeclared(value: Any, kind: Any, path: str = "report") -> Iterator[str]:
    """The fields of a value that its type does not have, however deep they are."""
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, vars(report_data))
        for name, inner in value.items():
            if name in hints:
                yield from undeclared(inner, hints[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
        return
    for part in typing.get_args(kind):
        if isinstance(value, list):
            for element in value:
                yield from undeclared(element, part, path)
        elif isinstance(value, dict) and typing.is_typeddict(part):
            yield from undeclared(value, part, path)


@pytest.mark.parametrize("name", ["join", "union", "splits", "noted", "order"])
def test_each_field_of_a_golden_report_is_declared(name: str) -> None:
    assert list(undeclared(golden(name), ReportData)) == []


def test_a_field_that_is_not_declared_is_found() -> None:
    changed = golden("splits")
    changed["inputs"][0]["splits"]["worst"][0]["colour"] = 1
    assert list(undeclared(changed, ReportData)) == ["report.inputs.splits.worst.colour"]


def test_each_field_of_a_running_query_is_declared(stalled: Stepper) -> None:
    assert list(undeclared(tidemark.report(stalled.query).to_dict(), ReportData)) == []


def test_to_dict_returns_a_copy_of_the_report_data() -> None:
    report = Report(golden("join"))
    report.to_dict()["plan"]["children"].clear()
    assert report.to_dict() == golden("join")


def test_late_rows_are_read_from_the_plan_with_the_splits_that_had_most() -> None:
    splits = [{"name": "pump", "rows": 5}, {"name": "mill\n", "rows": 1}]
    late = {
        "key": "readings", "held_by": None, "rows": 9, "most_ms": 5000, "last_rows": 2, "last_ms": 1000,
        "last_batch": 4, "splits": splits,
    }  # fmt: skip
    node = {"operator": "aggregation", "id": 0, "late_rows": 9, "late_ms": 0, "late": late}
    (found,) = _of_plan(node)
    assert found.splits == {"pump": 5, "mill\n": 1}
    assert found.other_splits == 3
    (unknown,) = _of_plan({**node, "late": {**late, "splits": None}})
    assert unknown.splits is None
    assert unknown.other_splits == 0
