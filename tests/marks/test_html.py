"""What a notebook shows of a mark log: tables that nothing in the log can break."""

from __future__ import annotations

from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tidemark
from tidemark.marks import Cut, FilesPosition, KafkaPosition, Marks, NumberPosition

TWO = "2026-11-23T02:00:00Z"
THREE = "2026-11-23T03:00:00Z"
HOSTILE = '<script src="https://example.org/x.js">alert(1)</script>\u202e'


class Cells(HTMLParser):
    """The texts of a page's paragraphs and cells, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def note(marks: Marks, writer: str, time: str) -> None:
    with marks.writer(writer) as life:
        life.note_time(time, files=[f"{len(writer)}-{time[11:13]}.json"])


def cells(shown: object) -> list[str]:
    page = shown._repr_html_()  # type: ignore[attr-defined]
    return Cells(page).texts


def test_a_log_without_writers_says_whom_it_waits_for(tmp_path: Path) -> None:
    marks = Marks(tmp_path, expected=["eu"])
    sentence, *rest = cells(marks)
    assert sentence.startswith("No time is complete") and "eu" in sentence
    assert rest[-4:] == ["eu", "-", "expected, and has no mark yet", "-"]


def test_the_writer_that_is_furthest_behind_comes_first_and_holds(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    note(marks, "eu", THREE)
    note(marks, "us", TWO)
    with marks.writer("asia") as writer:
        writer.note_time(THREE, files=["asia.json"])
        writer.end(files=[])
    sentence, *rest = cells(marks)
    assert sentence.startswith("Every row up to 2026-11-23T02:00:00.000Z has been written")
    rows = [rest[at : at + 4] for at in range(4, len(rest), 4)]
    assert [row[0] for row in rows] == ["us", "asia", "eu"]
    assert [row[2] for row in rows] == ["holds the watermark", "ended", "active"]
    assert rows[0][1] == "2026-11-23T02:00:00.000Z"


def test_a_writer_that_has_stalled_is_shown_as_left_out(tmp_path: Path) -> None:
    now = [0]
    marks = Marks(tmp_path, idle_after=timedelta(minutes=1), max_ahead=None, clock=lambda: now[0])
    note(marks, "us", TWO)
    now[0] = 120_000
    note(marks, "eu", THREE)
    assert "stalled, and left out" in cells(marks)


def test_what_the_log_returns_is_shown_as_a_table_too(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    note(marks, "eu", THREE)
    note(marks, "us", TWO)
    watermark = marks.watermark()
    assert "2026-11-23T02:00:00.000Z" in cells(watermark)
    assert cells(marks.cut_at(TWO)) == [
        "2-02.json",
        "before the cut",
        "2-03.json",
        "before the cut",
    ]
    (awaited,) = marks.waiting_for(THREE)
    assert cells(awaited)[:2] == ["writer", "us"]
    window = marks.window(FilesPosition(frozenset(["2-02.json", "2-03.json"])))
    assert "2026-11-23T02:00:00.000Z" in cells(window)
    assert "4 marks, the newest first" in cells(marks.read())
    kafka = Cut(KafkaPosition({"orders": {0: 17, 1: 4}}))
    assert cells(kafka) == ["orders, partition 0", "17", "orders, partition 1", "4"]
    number = Cut(NumberPosition(7))
    assert cells(number) == ["number", '{"number":7}']


def test_names_cannot_break_a_table(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "<b>")
    note(marks, HOSTILE, TWO)
    for shown in (marks, marks.watermark(), marks.read(), *marks.waiting_for(THREE)):
        page = shown._repr_html_()
        assert page is not None
        assert Cells(page).tags <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
        assert page.isprintable()
        assert "\u202e" not in page


def test_a_page_is_short_whatever_the_log_has(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    with marks.writer("w" * 160) as writer:
        for number in range(60):
            writer.note_time(TWO, files=["f" * 900 + str(number)])
    page = marks.read()._repr_html_()
    assert "and 11 more" in page
    assert len(page) < 40_000
    assert max(map(len, Cells(page).texts)) == 60


def test_a_log_that_cannot_be_read_is_shown_as_text(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("no folder")
    marks = Marks(file)
    with pytest.raises(tidemark.TidemarkError):
        marks.read()
    assert marks._repr_html_() is None
