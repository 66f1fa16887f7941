"""The text of a report, without Spark: the golden files contain the text that users see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tidemark._queries.late import _of_plan
from tidemark._queries.report.printing import name_of
from tidemark._queries.report.splits import details, shown
from tidemark._queries.report.times import duration, instant
from tidemark.results import Report

GOLDEN = Path(__file__).parents[1] / "golden"


def data(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return loaded


@pytest.mark.parametrize(
    "name", ["report_join", "report_union", "report_splits", "report_noted", "report_order"]
)
def test_a_report_matches_its_golden_text(name: str) -> None:
    assert str(Report(data(name))) + "\n" == (GOLDEN / f"{name}.txt").read_text()


def test_the_report_shows_when_the_next_window_closes() -> None:
    windows = {"operator": "aggregation", "id": 0, "late_ms": 0, "eviction_ms": 0, "columns": []}
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "inputs": []}

    def text_with(**fields: int) -> str:
        return str(Report({**query, "plan": {**windows, **fields}}))

    assert "next window" not in text_with()
    assert text_with(next_due_ms=3_600_000).endswith(
        "the next window closes when the watermark reaches 1970-01-01T01:00:00Z"
    )
    assert text_with(next_due_ms=0, skipped_scans=1).endswith("Z, 1 state scan skipped")
    assert text_with(next_due_ms=0, skipped_scans=12).endswith("Z, 12 state scans skipped")


def test_the_report_shows_how_often_a_side_of_a_join_has_left_its_state_unscanned() -> None:
    left = {"side": "left", "late_ms": 0, "eviction_ms": 0, "skipped_scans": 3}
    join = {"operator": "join", "sides": [left, {**left, "side": "right", "skipped_scans": 0}]}
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "plan": join}
    sides = [line.strip(" │") for line in str(Report(query)).splitlines() if " side: " in line]
    upto = "1970-01-01T00:00:00Z"
    assert sides == [
        f"left side: late at or before {upto}, state evicted up to {upto}, 3 state scans skipped",
        f"right side: late at or before {upto}, state evicted up to {upto}",
    ]


def test_the_report_says_what_the_asynchronous_calls_were() -> None:
    last = {
        "calls": 1204, "retries": 1, "failed": 0, "timed_out": 2, "defaulted": 1, "most_in_flight": 64,
        "p50_ms": 12.34, "p99_ms": 141.7, "slowest_ms": 2001.5, "slowest": "user_id=7",
    }  # fmt: skip
    column = {"column": "profile", "last": last, "all": {**last, "calls": 1}}
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "calls": [column]}
    assert str(Report(query)).splitlines()[1:] == [
        "calls",
        "  profile: 1,204 calls (1 retry, 2 time-outs, 1 row with a default) in the last batch, "
        "1 call (1 retry, 2 time-outs, 1 row with a default) so far",
        "    half within 12.3 ms, 99 % within 142 ms, at most 64 in flight in a task",
        "    the slowest took 2,002 ms: user_id=7",
    ]
    hidden = {**column, "last": {**last, "slowest": ""}}
    assert (
        str(Report({**query, "calls": [hidden]})).splitlines()[-1]
        == "    the slowest took 2,002 ms"
    )
    none = {"column": "profile", "last": {"calls": 0, "slowest_ms": None}, "all": {}}
    assert str(Report({**query, "calls": [none]})).splitlines()[1:] == [
        "calls",
        "  profile: 0 calls in the last batch, 0 calls so far",
    ]
    assert "calls" not in str(Report({**query, "calls": []}))


def test_the_report_says_where_an_order_is_lost() -> None:
    function = {"operator": "dropDuplicates", "id": 0, "columns": []}
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "inputs": []}

    def text_with(**order: Any) -> str:
        plan = {**function, "order": {"of_groups": True, **order}}
        return str(Report({**query, "plan": plan})).splitlines()[-1].strip()

    lost = {"lost_at": "union", "why": "its inputs have watermarks of their own"}
    assert text_with(kind="none", **lost) == f"order: none, lost at union: {lost['why']}"
    assert text_with(kind="arrival") == "order: each group in the order of the source"
    assert text_with(kind="arrival", lost_at="Kafka", why="its 2 partitions are mixed") == (
        "order: each group as each task has read them from the source, lost in part at Kafka: "
        "its 2 partitions are mixed"
    )
    time = {"kind": "time", "columns": ["time"]}
    assert text_with(**time) == "order: each group by time, within each batch"
    assert text_with(**time, of_groups=False, over_batches=True) == "order: all rows by time"
    assert (
        text_with(**time, **lost)
        == f"order: each group by time, lost in part at union: {lost['why']}"
    )
    braces = {"lost_at": "project", "why": "'a{b}' is not passed on"}
    assert (
        text_with(kind="none", **braces) == "order: none, lost at project: 'a{b}' is not passed on"
    )
    assert text_with(**time, **braces).endswith("lost in part at project: 'a{b}' is not passed on")


def test_the_report_says_how_many_rows_wait() -> None:
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "inputs": []}

    def lines_with(**held: Any) -> list[str]:
        plan = {"operator": "in order", "id": 0, "columns": [], "held": held}
        lines = [line.strip() for line in str(Report({**query, "plan": plan})).splitlines()]
        return lines[lines.index("in order #0") + 1 :]

    assert lines_with(rows=0, bytes=10) == ["holds no rows"]
    assert lines_with(rows=1, bytes=900) == ["holds 1 row (900 bytes)"]
    begin = "1970-01-01T00:00:00Z"
    assert lines_with(rows=1, bytes=9, next_due_ms=0, last_due_ms=0) == [
        "holds 1 row (9 bytes)",
        f"it is emitted when the watermark reaches {begin}",
    ]
    assert lines_with(rows=2, bytes=999_960, next_due_ms=0, last_due_ms=0, waits_for="t") == [
        "holds 2 rows (1.0 MB), waits for t",
        f"they are emitted when the watermark reaches {begin}",
    ]
    assert lines_with(rows=2, bytes=9, next_due_ms=0, last_due_ms=60_000, waits_for="t") == [
        "holds 2 rows (9 bytes), waits for t",
        f"the first is emitted when the watermark reaches {begin}",
        "the last is emitted when the watermark reaches 1970-01-01T00:01:00Z",
    ]


def test_the_report_says_that_late_rows_were_passed_on() -> None:
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "inputs": []}

    def text_with(**rows: Any) -> str:
        plan = {"operator": "in order", "id": 0, "columns": [], **rows}
        return str(Report({**query, "plan": plan})).splitlines()[-1].strip()

    assert text_with(late_rows=0, passed_rows=0) == "in order #0"
    assert text_with(late_rows=0, passed_rows=1) == "in order #0, 1 late row passed on"
    assert text_with(late_rows=0, passed_rows=3) == "in order #0, 3 late rows passed on"
    assert text_with(late_rows=3) == "in order #0, 3 late rows"
    bounds = {"late_ms": 0, "eviction_ms": 0}
    assert text_with(**bounds).startswith("late at or before 1970-01-01T00:00:00Z, ")
    passed = text_with(**bounds, late={"passed": True})
    assert passed.startswith("late at or before 1970-01-01T00:00:00Z (passed on), ")


def test_the_report_gives_the_reason_for_a_query_left_to_stock_spark() -> None:
    left = {
        "query": {"id": "5f1c", "runId": "a2b0", "name": None},
        "batch": None,
        "engine": "spark",
        "reason": "multipleWatermarkPolicy=max",
        "plan": None,
    }
    assert str(Report(left)) == ("query 5f1c: left to Spark (multipleWatermarkPolicy=max)")


def test_the_report_states_that_no_batch_has_ended() -> None:
    early = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": None}
    assert str(Report(early)) == (
        "query 5f1c, no batch has ended yet: one watermark per event-time column"
    )


def test_to_dict_returns_a_copy_of_the_report_data() -> None:
    report = Report(data("report_join"))
    report.to_dict()["plan"]["children"].clear()
    assert report.to_dict() == data("report_join")


def test_an_empty_report_still_has_readable_text() -> None:
    assert str(Report({})) == ("query ?: left to Spark (no reason given)")


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (None, "undefined"),
        (0, "1970-01-01T00:00:00Z"),
        (1383389399999, "2013-11-02T10:49:59.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (253402300799000, "9999-12-31T23:59:59Z"),
        (8210266876799000, "8210266876799000 ms"),
    ],
)
def test_times_are_shown_in_utc_with_milliseconds_only_if_present(
    millis: int | None, text: str
) -> None:
    assert instant(millis) == text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0 seconds"),
        (1, "0.001 seconds"),
        (1000, "1 second"),
        (600_000, "10 minutes"),
        (5_400_000, "1 hour 30 minutes"),
        (86_400_000 + 1500, "1 day 1.5 seconds"),
    ],
)
def test_delays_are_shown_in_readable_units(millis: int, text: str) -> None:
    assert duration(millis) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("device 7", '"device 7"'),
        ("", '""'),
        ("it's", '"it\'s"'),
        ('say "a"', r'"say \"a\""'),
        ("a\\b", r'"a\\b"'),
        ("one\ntwo\t\x00\x1b[31m", r'"one\ntwo\t\x00\x1b[31m"'),
        ("\u202eright\u2028", r'"\u202eright\u2028"'),
        ("\ud800", r'"\ud800"'),
        ("Zürich", '"Zürich"'),
        ("x" * 60, '"' + "x" * 60 + '"'),
        ("x" * 61, '"' + "x" * 60 + '"...'),
        ("x" * 57 + "\n\n", '"' + "x" * 57 + r'\n"...'),
    ],
)
def test_a_split_name_is_shown_on_one_short_escaped_line(name: str, text: str) -> None:
    assert shown(name) == text


def test_an_input_without_splits_or_idle_timeout_has_no_detail_lines() -> None:
    for name in ("report_join", "report_union"):
        assert [line for origin in data(name)["inputs"] for line in details(origin)] == []


def test_the_report_text_handles_absent_and_null_fields() -> None:
    assert list(details({"idle_after_ms": 1000})) == ["idle_after 1 second"]
    assert list(details({"split_by": ["device"]})) == ["split_by device"]
    bare = {"split_by": ["device"], "splits": {"worst": [{"name": None}], "idle_ones": [{}]}}
    assert list(details(bare)) == [
        "split_by device",
        "0 splits",
        "split null, has never had a row",
        "idle: split null, has never had a row",
    ]


def test_the_report_text_escapes_control_characters() -> None:
    key = "orders\x1b[2J\nquery fake, batch 9"
    column = {"name": "a\tb", "in_ms": None, "out_ms": 0, "held_by": key}
    odd = {
        "query": {"id": "5f1c", "name": "my\rquery"},
        "engine": "tidemark",
        "batch": 1,
        "inputs": [{"key": key, "column": "time", "watermark_ms": 0}],
        "hints": [{"code": "X", "message": "about \x07this"}],
        "plan": {"operator": "withWatermark", "key": key, "columns": [column], "children": []},
    }
    text = str(Report(odd))
    assert [
        character for character in text if not character.isprintable() and character != "\n"
    ] == []
    assert len(text.splitlines()) == 8
    assert "orders\\x1b[2J\\nquery fake, batch 9" in text


def test_the_report_text_cuts_long_names_as_the_engine_does() -> None:
    name = "x" * 10_000
    column = {"name": name, "key": f"{name}y", "in_ms": 0, "out_ms": 0, "held_by": name}
    held = {"rows": 1, "next_due_ms": 0, "last_due_ms": 0, "waits_for": name}
    order = {"kind": "time", "columns": [name, "offset"]}
    marked = {"operator": "withWatermark", "key": name}
    in_order = {
        "operator": "in order", "key": f"{name}y", "columns": [column], "held": held,
        "order": order, "late_ms": 0, "eviction_ms": 0, "held_by": name, "children": [marked],
    }  # fmt: skip
    long = {
        "query": {"name": name},
        "engine": "tidemark",
        "batch": 1,
        "inputs": [{"key": name, "column": f"{name}y", "watermark_ms": 0}],
        "calls": [{"column": name}],
        "plan": in_order,
    }
    lines = str(Report(long)).splitlines()
    cut = "x" * 60 + "..."
    assert max(map(len, lines)) < 300
    assert lines[0] == f"query {cut}, batch 1: one watermark per event-time column"
    assert f"  {cut} [{cut}], watermark 1970-01-01T00:00:00Z, " in lines[2]
    assert "".join(lines).count(cut) == 12
    assert "x" * 61 not in "".join(lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "..."),
        ("\x1b" * 16, r"\x1b" * 15 + "..."),
        ("orders\n", r"orders\n"),
        ('a "b"\\', 'a "b"\\'),
        (None, "None"),
    ],
)
def test_a_name_of_what_users_have_called_something_is_short_and_printable(
    name: object, text: str
) -> None:
    assert name_of(name) == text


def test_the_docstring_of_a_report_names_each_field_of_an_input() -> None:
    def fields(node: Any) -> Iterator[str]:
        for name, value in node.items() if isinstance(node, dict) else ():
            yield name
            # Its names are reasons.
            if name != "skipped_lines":
                yield from fields(value)
        for element in node if isinstance(node, list) else ():
            yield from fields(element)

    goldens = ("report_splits", "report_noted")
    named = {name for golden in goldens for name in fields(data(golden)["inputs"])}
    assert {"holds_since_ms", "mark", "last_news_ms", "idle_at_ms"} <= named
    assert sorted(name for name in named if f"`{name}`" not in str(Report.__doc__)) == []


def test_the_report_text_says_that_the_newest_lines_of_a_writer_cannot_be_read() -> None:
    report = data("report_noted")
    report["inputs"][0]["splits"]["worst"][0]["next"] = {"is_damaged": True}
    lines = [line.strip() for line in str(Report(report)).splitlines()]
    at = lines.index('held back by writer "new", nothing noted yet')
    assert lines[at + 1] == "its newest lines cannot be read"


def test_each_line_on_a_writer_has_at_most_one_time() -> None:
    lines = str(Report(data("report_noted"))).splitlines()
    first, last = (
        next(at for at, line in enumerate(lines) if text in line)
        for text in ("held back by", "promises broken")
    )
    assert last - first > 10
    assert all(line.count("Z") <= 1 for line in lines[first:last])


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({}, "no time window yet"),
        ({"upper_ms": 1000}, "time window up to 1970-01-01T00:00:01Z"),
        (
            {"lower_ms": 0},
            "time window from 1970-01-01T00:00:00Z, without an end: a writer has noted nothing later",
        ),
        (
            {"lower_ms": 0, "upper_ms": 1000},
            "time window 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z",
        ),
    ],
)
def test_the_report_says_what_is_known_of_a_time_window(bounds: dict[str, int], text: str) -> None:
    noted = {"location": "/log", **bounds}
    origin = {"split_by": ["writers of /log"], "noted": noted, "splits": {"total": 1}}
    assert text in list(details(origin))


def test_the_report_text_says_what_the_query_has_noted() -> None:
    output = {"column": "window", "location": "/log", "writer": "a", "noted_ms": 0, "failures": 2}
    report = {
        "query": {"id": "5f1c"},
        "engine": "tidemark",
        "outputs": [output, {**output, "noted_ms": None, "failures": 0}],
    }
    assert str(Report(report)).splitlines()[1:] == [
        "noted for other queries",
        "  window, noted 1970-01-01T00:00:00Z, writer a in /log, 2 marks could not be written",
        "  window, nothing is noted yet, writer a in /log",
    ]


def test_the_report_names_the_splits_whose_rows_were_late() -> None:
    late = {
        "key": "readings",
        "held_by": None,
        "rows": 9,
        "most_ms": 5000,
        "last_rows": 2,
        "last_ms": 1000,
        "last_batch": 4,
        "splits": [{"name": "pump", "rows": 5}, {"name": "mill\n", "rows": 1}],
    }
    node = {"operator": "aggregation", "id": 0, "late_rows": 9, "late_ms": 0, "late": late}
    lines = str(Report({"engine": "tidemark", "plan": node})).splitlines()
    assert any(r'late rows by split: "pump" 5, "mill\n" 1, others 3' in line for line in lines)
    (found,) = _of_plan(node)
    assert found.splits == {"pump": 5, "mill\n": 1}
    assert found.other_splits == 3
    (unknown,) = _of_plan({**node, "late": {**late, "splits": None}})
    assert unknown.splits is None
    assert unknown.other_splits == 0


def test_the_report_counts_no_downtime_as_silence_of_a_split() -> None:
    silent = {"name": "a", "clock_ms": 0, "last_active_ms": 0, "silent_ms": 7000}
    of_splits = {"total": 2, "active": 2, "without_rows": 1, "worst": [], "idle_ones": []}
    never = {"name": "b", "clock_ms": None, "is_expected": True, "state": "without_rows"}
    worst = [{**silent, "silent_of_ms": 8000, "behind_ms": 1000}, never]
    lines = list(details({"split_by": ["k"], "splits": {**of_splits, "worst": worst}}))
    assert lines[1:] == [
        "2 splits: 1 active, 1 without a row yet",
        'held back by split "a", clock 1970-01-01T00:00:00Z, 1 second behind, '
        "last row 1970-01-01T00:00:00Z, silent for 7 seconds of 8 seconds "
        "(the rest does not count)",
        'then split "b", expected, has never had a row',
    ]


def test_a_report_begins_with_why_nothing_comes_out() -> None:
    why = {"sentence": "Nothing comes out: aggregation #0 waits.", "fix": "setting idle_after"}
    query = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, "why": why}
    assert str(Report(query)).splitlines()[:3] == [
        "Nothing comes out: aggregation #0 waits.",
        "Fix this by setting idle_after.",
        "query 5f1c, batch 3: one watermark per event-time column",
    ]
    assert Report(query).why == "Nothing comes out: aggregation #0 waits."
    assert Report({}).why == ""


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2023-11-14T22:13:20Z"),
        ("Europe/London", "2023-11-14T22:13:20Z"),
        ("America/New_York", "2023-11-14T17:13:20-05:00"),
        ("+02:00", "2023-11-15T00:13:20+02:00"),
        ("GMT-3", "2023-11-14T19:13:20-03:00"),
        ("no/such zone", "2023-11-14T22:13:20Z"),
        (None, "2023-11-14T22:13:20Z"),
    ],
)
def test_a_report_shows_times_in_the_zone_of_the_session(zone: str | None, text: str) -> None:
    origin = {"key": "time", "column": "time", "watermark_ms": 1_700_000_000_000}
    report = Report({"engine": "tidemark", "zone": zone, "inputs": [origin]})
    assert f"time, watermark {text}, " in str(report)
    assert instant(1_700_000_000_000) == "2023-11-14T22:13:20Z"
