"""The example of much state: its inputs, its check of the rows, its table and its picture."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from big_state import inputs, picture, promise, table
from big_state.outcome import Outcome
from big_state.query import monthly
from big_state.replay import replay
from common.engines import Engine

HOURS = [1, 2, 7, 8, 14, 20]
"""On the first day of January 2001, at which the invented flights leave."""
IN_JANUARY = Counter({("ATL", "SFO", hour * 60): 2 for hour in HOURS})


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two flights an hour, in two inputs; one without flights, and one of February."""
    pa = pytest.importorskip("pyarrow")
    times = [datetime(2001, 1, 1, hour) for hour in HOURS for _ in range(2)]
    times.append(datetime(2001, 2, 1, 3))
    flights = pa.table({"date": times, "origin": ["ATL"] * 13, "destination": ["SFO"] * 13})
    assert inputs.counted(flights) == IN_JANUARY
    made = inputs.write(flights, inputs.INPUTS, tmp_path / "inputs")
    return [*made[:3], made[-1]]


@pytest.mark.classic
@pytest.mark.usefixtures("one_partition")
def test_a_window_of_a_month_is_emitted_with_the_counts_of_plain_python(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "shown").mkdir()
    counts = monthly(spark, tmp_path / "shown")
    outcome = replay(counts, files, tmp_path / "shown", tmp_path / "checkpoint", lambda: None)
    assert list(promise.differences("Tidemark", outcome, IN_JANUARY)) == []
    assert outcome.state == [4, 6, 6, 1]
    # Only the first watermark and the end of the window bring a no-data batch.
    assert sum(outcome.batches) == len(files) + 2
    assert list(promise.differences("Tidemark", outcome, Counter())) != []


def test_the_check_names_groups_that_are_missing_wrong_or_emitted_twice() -> None:
    rows = [("ATL", "SFO", 60, 2), ("ATL", "SFO", 60, 2)]
    twice, wrong = promise.differences("stock", Outcome(rows=rows), IN_JANUARY)
    assert twice == "stock emitted 1 groups more than once."
    assert wrong.startswith(
        "stock emitted 5 groups with a wrong count, first ('ATL', 'SFO', 120): 0"
    )


def outcomes() -> dict[Engine, Outcome]:
    """Invented figures: stock Spark's grow with the state, Tidemark's do not."""
    state = list(range(100, 1300, 100))
    grows, same = [float(groups) for groups in state], [50.0] * 12
    return {
        "stock": Outcome(grows, grows, state, [2] * 12),
        "tidemark": Outcome(same, same, state, [1] * 12),
    }


def test_the_table_shows_the_cost_of_an_input_for_each_size_of_state() -> None:
    lines = table.table(outcomes()).splitlines()
    assert lines[2].split() == ["200", "to", "300", "250", "50", "250", "50"]
    assert lines[6].split() == ["1,000", "to", "1,100", "1,050", "50", "1,050", "50"]
    assert lines[7].split()[-4:] == ["1,200", "50", "1,200", "50"]
    assert lines[8].split()[-2:] == ["24", "12"]


def test_the_picture_is_the_same_file_for_the_same_figures(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        picture.draw(outcomes(), tmp_path / name)
    drawn = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert "groups in state" in drawn
    assert drawn == (tmp_path / "two.svg").read_text(encoding="utf-8")


def test_an_input_has_half_a_day_of_flights() -> None:
    assert inputs.end_of(inputs.INPUTS - 2) == inputs.MONTH_ENDS
    assert inputs.end_of(inputs.INPUTS - 1) - inputs.MONTH_ENDS == timedelta(hours=12)
