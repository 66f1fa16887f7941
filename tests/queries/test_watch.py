"""`watch` without Spark: what it shows, in a notebook and elsewhere, and when it ends."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.raising import raising

import tidemark
from tidemark import TidemarkError
from tidemark._queries import watch
from tidemark.results import Report


def data(batch: int | None, watermark: str, sentence: str) -> dict[str, Any]:
    return {
        "query": {"id": "5f1c", "name": "hourly"},
        "zone": "UTC",
        "batch": batch,
        "why": {"sentence": sentence, "fix": None},
        "inputs": [{"key": "orders", "watermark": watermark}],
    }


class Query:
    """A query with a report for each time that one is asked for; it has ended with the last one."""

    def __init__(self, *reports: dict[str, Any]) -> None:
        self.reports = [Report(report) for report in reports]
        self.asked = 0
        self.pauses: list[float] = []

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self.asked < len(self.reports) - 1

    def report(self, query: object, **_: object) -> Report:
        assert query is self
        found = self.reports[self.asked]
        self.asked += 1
        return found


NIGHT = (
    data(None, "undefined", "No batch has ended yet."),
    data(0, "10:00Z", "Nothing comes out."),
    data(1, "10:00Z", "Nothing comes out."),
    data(2, "10:01Z", "Nothing comes out."),
    data(3, "10:01Z", "All is well."),
)


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Query:
    made = Query(*NIGHT)
    monkeypatch.setattr(watch, "report", made.report)
    monkeypatch.setattr(watch, "_pause", made.pauses.append)
    return made


class Handle:
    def __init__(self, shown: list[tuple[str, Any]]) -> None:
        self.shown = shown

    def update(self, what: Any) -> None:
        self.shown.append(("update", what))


def use_ipython(monkeypatch: pytest.MonkeyPatch, shell: object) -> list[tuple[str, Any]]:
    shown: list[tuple[str, Any]] = []

    def display(what: Any, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(("display", what))
        return Handle(shown)

    of_shell, of_display = ModuleType("IPython"), ModuleType("IPython.display")
    monkeypatch.setattr(of_shell, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(of_display, "display", display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", of_shell)
    monkeypatch.setitem(sys.modules, "IPython.display", of_display)
    return shown


def use_no_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)


def test_without_ipython_a_line_is_printed_when_the_sentence_or_a_watermark_has_changed(
    query: Query, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_no_ipython(monkeypatch)
    last = tidemark.watch(query, every=5)  # type: ignore[arg-type]
    assert last is query.reports[-1]
    assert query.pauses == [5, 5, 5, 5]
    assert capsys.readouterr().out.splitlines() == [
        "no batch yet, orders undefined, No batch has ended yet.",
        "batch 0, orders 10:00Z, Nothing comes out.",
        "batch 2, orders 10:01Z, Nothing comes out.",
        "batch 3, orders 10:01Z, All is well.",
    ]


def test_a_printed_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_no_ipython(monkeypatch)
    held = data(1, "10:00Z", "Nothing comes out.")
    held["why"]["fix"] = "setting idle_after"
    query = Query(held)
    monkeypatch.setattr(watch, "report", query.report)
    tidemark.watch(query)  # type: ignore[arg-type]
    assert capsys.readouterr().out.endswith("Nothing comes out. Fix this by setting idle_after.\n")


def test_a_name_cannot_write_lines_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_no_ipython(monkeypatch)
    hostile = data(1, "10:00Z", "All is well.")
    hostile["inputs"][0]["key"] = "orders\x1b[2J\nbatch 2"
    made = Query(hostile)
    monkeypatch.setattr(watch, "report", made.report)
    tidemark.watch(made)  # type: ignore[arg-type]
    output = capsys.readouterr().out
    assert output == "batch 1, orders\\x1b[2J\\nbatch 2 10:00Z, All is well.\n"


def test_a_long_name_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_no_ipython(monkeypatch)
    long = data(1, "10:00Z", "All is well.")
    long["inputs"][0]["key"] = "x" * 10_000
    made = Query(long)
    monkeypatch.setattr(watch, "report", made.report)
    tidemark.watch(made)  # type: ignore[arg-type]
    cut = "x" * 60
    assert capsys.readouterr().out == f"batch 1, {cut}... 10:00Z, All is well.\n"


def test_in_a_notebook_one_drawing_is_replaced_by_the_next(
    query: Query, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = use_ipython(monkeypatch, SimpleNamespace(kernel=object()))
    tidemark.watch(query)  # type: ignore[arg-type]
    assert [what for _, what in shown] == query.reports
    assert [how for how, _ in shown] == ["display", *["update"] * 4]
    assert capsys.readouterr().out == ""


def test_ipython_in_a_terminal_prints_lines(
    query: Query, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = use_ipython(monkeypatch, SimpleNamespace())
    tidemark.watch(query)  # type: ignore[arg-type]
    assert shown == []
    assert capsys.readouterr().out.startswith("no batch yet")


def test_watching_ends_once_the_report_is_what_the_user_waits_for(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_no_ipython(monkeypatch)
    last = tidemark.watch(query, until=lambda now: now.to_dict()["batch"] == 1)  # type: ignore[arg-type]
    assert last is query.reports[2]


def test_ctrl_c_ends_watching_and_returns_the_last_report(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_no_ipython(monkeypatch)

    def interrupted(_: float) -> None:
        if query.asked == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch, "_pause", interrupted)
    assert tidemark.watch(query) is query.reports[1]  # type: ignore[arg-type]


@pytest.mark.parametrize("every", [0, -1, float("nan"), float("inf"), True, "2 seconds", None])
def test_an_interval_that_is_not_a_number_of_seconds_is_refused(query: Query, every: Any) -> None:
    with pytest.raises(TidemarkError) as caught:
        tidemark.watch(query, every=every)  # type: ignore[arg-type]
    assert caught.value.code == "INVALID_OPTION"
    assert query.asked == 0


def test_an_end_that_is_not_a_function_is_refused(query: Query) -> None:
    with raising("INVALID_OPTION", option="until", value=3):
        tidemark.watch(query, until=3)  # type: ignore[arg-type]
