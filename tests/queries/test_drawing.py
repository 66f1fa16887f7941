"""Reports and plots as a notebook shows them, on classic Spark and on Spark Connect."""

from __future__ import annotations

import html
import json
import sys
import xml.etree.ElementTree as ET
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.feeds import millis
from support.raising import raising
from support.stalled import stalled as stalled
from support.streams import Stepper

import tidemark
from tidemark import _bridge
from tidemark._shown import in_words
from tidemark.results import Report

GOLDEN = Path(__file__).parents[2] / "jvm" / "src" / "test" / "resources" / "golden" / "reports"
HOSTILE = '<script>alert(1)</script>"\x00\u202e'


def held() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / "join.json").read_text())
    return loaded


def test_a_notebook_shows_the_sentence_the_plan_and_the_history(stalled: Stepper) -> None:
    found = tidemark.report(stalled.query)
    page = ET.fromstring(found._repr_html_())
    text = " ".join(" ".join(page.itertext()).split())
    assert found.why in text
    assert "Event time over processing time" in text
    assert "aggregation #0" in text
    assert {element.tag for element in page.iter()} >= {"div", "svg", "table"}


def test_a_report_is_drawn_as_it_was_after_its_query_and_session_are_gone(
    stalled: Stepper, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tidemark.report(stalled.query)
    page = found._repr_html_()
    stalled.stop()
    monkeypatch.delattr(_bridge, "drawn")
    assert found._repr_html_() == page
    assert Report(found.to_dict())._repr_html_().startswith("<pre>")


def page_of(spark: SparkSession, report: dict[str, Any]) -> str:
    text = _bridge._text(json.dumps(report))
    return str(spark.sql(f"SELECT tidemark_html({text})").collect()[0][0])


def test_a_report_without_a_history_says_so(spark: SparkSession) -> None:
    page = page_of(spark, held())
    assert "spark.tidemark.history is off" in page
    assert "aggregation" in page


def test_names_are_escaped_in_drawings_and_in_words(spark: SparkSession) -> None:
    data = held()
    data["inputs"][0]["key"] = data["query"]["name"] = HOSTILE
    drawn = page_of(spark, data)
    assert drawn.startswith("<div")
    for page in (drawn, in_words(HOSTILE.replace("\x00", "").replace("\u202e", ""))):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "\x00" not in page
        assert "\u202e" not in page


def test_a_text_that_is_not_a_report_is_refused_with_a_code(spark: SparkSession) -> None:
    for text in ("{", "[]"):
        with raising("NOT_A_REPORT"):
            spark.sql(f"SELECT tidemark_html('{text}')").collect()
    assert spark.sql("SELECT tidemark_svg(CAST(NULL AS STRING))").collect()[0][0] is None


def test_a_plot_of_a_query_has_its_largest_event_times(stalled: Stepper) -> None:
    plot = tidemark.plot(stalled.query)
    latest = {row["key"]: row for row in plot.data}
    assert latest["payments"]["watermark"] == at("09:50")
    assert latest["orders"]["max_event_time"] == at("10:30")
    assert latest["orders"]["late_rows"] == 0
    assert "payments 2024-01-01T09:50:00Z" in str(plot)
    svg = plot._repr_svg_()
    assert svg is not None
    assert "Late rows of each batch" in svg


def test_a_plot_of_a_checkpoint_has_the_clocks_of_the_log(
    spark: SparkSession, stalled: Stepper, tmp_path: Path
) -> None:
    stalled.stop()
    plot = tidemark.plot(tmp_path / "checkpoint", spark=spark)
    said = 'Nothing comes out: aggregation #0 waits for "payments", which is at'
    assert str(plot).startswith(said)
    page = plot._repr_html_()
    assert html.escape(said) in page
    latest = {row["key"]: row for row in plot.data}
    assert latest["orders"]["watermark"] == at("10:20")
    assert latest["payments"]["watermark"] == at("09:50")
    assert "clock" in latest["orders"]
    plot.save(tmp_path / "night.svg")
    root = ET.parse(tmp_path / "night.svg").getroot()
    # A file has a background, as dark text needs one. A page has its own, which may be dark.
    assert "background" in root.attrib.pop("style")
    drawing_of_page = ET.fromstring(page[page.index("<svg") :])
    assert ET.tostring(drawing_of_page) == ET.tostring(root)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join(root.itertext())
    assert "payments: furthest clock" in text
    assert "Late rows" not in text


def test_a_plot_has_the_keys_and_the_batches_that_were_asked_for(stalled: Stepper) -> None:
    plot = tidemark.plot(stalled.query, keys="payments")
    assert {row["key"] for row in plot.data} == {"payments"}
    last = plot.data[-1]["time"]
    assert [row["time"] for row in tidemark.plot(stalled.query, since=last).data] == [last] * 2
    assert tidemark.plot(stalled.query, since=last + timedelta(days=1)).data == []
    with raising("INVALID_OPTION", option="keys", value="refunds"):
        tidemark.plot(stalled.query, keys=["refunds"])
    with raising("INVALID_OPTION", option="since"):
        tidemark.plot(stalled.query, since="yesterday")  # type: ignore[arg-type]


def test_a_running_query_is_watched_until_its_report_is_as_wanted(
    stalled: Stepper, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    last = tidemark.watch(stalled.query, every=0.01, until=lambda now: bool(now.why))
    assert last.why in capsys.readouterr().out


def at(time: str) -> datetime:
    return datetime.fromtimestamp(millis(time) / 1000, timezone.utc)
