"""`python -m tidemark`: what is wanted before there is a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper

import tidemark
from tidemark._command import command as command_line
from tidemark._command.command import run
from tidemark.marks import Marks


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which may start a session."""
    return subprocess.run(
        [sys.executable, "-m", "tidemark", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def test_jar_prints_the_path_for_spark_submit(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        expected = tidemark.jars.jar_path("4.2.1")
    except tidemark.TidemarkError:
        pytest.skip("no jar has been built")
    assert run(["jar", "--spark", "4.2.1"]) == 0
    assert capsys.readouterr().out == expected + "\n"


def test_a_command_that_fails_prints_the_error_and_returns_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["jar", "--spark", "3.5.0"]) == 1
    assert "Fix this by" in capsys.readouterr().err


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["explode"])
    assert "invalid choice" in capsys.readouterr().err


def test_doctor_is_another_name_of_check() -> None:
    parser = command_line._parser()
    doctor, check = (parser.parse_args([name, "--json"]) for name in ("doctor", "check"))
    assert vars(doctor) == vars(check)


def test_complete_says_by_its_exit_code_whether_an_hour_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(tmp_path / "_tidemark")
    with Marks(log).writer("eu") as writer:
        writer.note_time("2026-11-23T13:00:00Z", files=["1.json"])
    assert run(["complete", log, "2026-11-23T13:00:00Z"]) == 0
    assert capsys.readouterr().out == "complete\n"
    assert run(["complete", log, "2026-11-23T14:00:00Z", "--expected", "us"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "not complete",
        "waits for us, which has noted nothing",
        "waits for eu, which has noted 2026-11-23T13:00:00.000Z",
    ]
    assert run(["complete", log, "1795438800000", "--json", "--idle-after", "60"]) == 0
    assert json.loads(capsys.readouterr().out) == {"complete": True, "waiting_for": []}


def test_complete_says_so_if_no_writer_has_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["complete", str(tmp_path), "2026-11-23T13:00:00Z"]
    assert run(asked) == 1
    assert capsys.readouterr().out.splitlines() == [
        "not complete",
        "waits for a first writer: there is none yet",
    ]
    assert run([*asked, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "complete": False,
        "waiting_for": [{"writer": None, "noted_millis": None, "written_millis": None}],
    }


@pytest.mark.parametrize(
    "wrong",
    [
        ["kafka:marks", "2026-11-23T13:00:00Z"],
        ["{log}", "an hour ago"],
        ["{log}", "0", "--option", "broker:9092"],
    ],
)
def test_complete_fails_with_another_exit_code_than_that_of_an_hour_that_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str]
) -> None:
    assert run(["complete", *(argument.format(log=tmp_path) for argument in wrong)]) == 2
    assert "Fix this by" in capsys.readouterr().err


def test_marks_prints_each_mark_and_names_the_lines_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Marks(tmp_path).writer("eu") as writer:
        writer.note_time("2026-11-23T13:00:00Z", files=["1.json"])
    (tmp_path / "us.1.0.marks").write_text("torn")
    assert run(["marks", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    rows = [row.split("\t") for row in printed.out.splitlines()]
    assert [row[0:1] + row[2:5] for row in rows] == [
        ["eu", "0", "alive", ""],
        ["eu", "1", "note", "2026-11-23T13:00:00.000Z"],
    ]
    assert printed.err == "us.1.0.marks, line 1: cannot be used (torn)\n"
    assert run(["marks", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1])["kind"] == "note"


def test_names_of_writers_are_printed_on_one_line_and_move_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "eu\t\n\x1b[2J\u202e\x00"
    with Marks(tmp_path).writer(name) as writer:
        writer.note_time("2026-11-23T13:00:00Z", files=["1.json"])
    assert run(["marks", str(tmp_path)]) == 0
    assert run(["complete", str(tmp_path), "2026-11-23T14:00:00Z"]) == 1
    marks_and_more = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in marks_and_more[:2]] == [repr(name)[1:-1]] * 2
    assert marks_and_more[2:] == [
        "not complete",
        f"waits for {repr(name)[1:-1]}, which has noted 2026-11-23T13:00:00.000Z",
    ]


@pytest.mark.more
def test_check_runs_a_streaming_query_and_says_that_takeover_works() -> None:
    done = command("check", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ok"]
    assert found["findings"][-1]["check"] == "takeover"
    assert found["findings"][-1]["found"] == "a streaming query ran with Tidemark's watermarks"


@pytest.mark.more
@pytest.mark.classic
def test_log_prints_the_last_batches_of_a_checkpoint(
    feed: Callable[..., Feed], run: Callable[..., Stepper], tmp_path: Path
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    key = "\u00e9vents\x1b[2J" + "x" * 10_000
    counts = tidemark.with_watermark(events.stream(), "time", "10 minutes", key=key)
    query = counts.groupBy(F.window("time", "10 minutes")).count()
    checkpoint = tmp_path / "checkpoint"
    running = query.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    started = running.start()
    events.add({"id": 1, "time": "10:00"})
    started.processAllAvailable()
    started.stop()
    done = command("log", str(checkpoint), "--json", "--batches", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["key"] == key
    printed = command("log", str(checkpoint)).stdout
    assert "After batch 1:\naggregation #0 has emitted what was due" in printed
    assert f" \u00e9vents\\x1b[2J{'x' * 47}... " in printed
    assert max(map(len, printed.splitlines())) < 300
    assert "\x1b" not in printed
    # Also where the locale has no such letters.
    named = tmp_path / "at 50% a+b"
    checkpoint.rename(named)
    plain = command("log", str(named), "--json", "--batches", "1", LC_ALL="C", PYTHONUTF8="1")
    assert json.loads(plain.stdout)["key"] == key
    assert command("log", str(named), "--batches", "0").returncode == 2
    missing = command("log", str(tmp_path))
    assert missing.returncode == 1
    assert missing.stderr.startswith("[TIDEMARK.NO_LOG] ")
    assert len(missing.stderr.splitlines()) == 1


JOB = """
from pyspark.sql import functions as F
import tidemark


def counts(spark):
    rows = spark.readStream.format("rate").load()
    marked = tidemark.with_watermark(rows, "timestamp", "10 minutes", key="rows")
    return marked.groupBy(F.window("timestamp", "1 hour")).count()


def days(spark):
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "10 minutes")
    return rows.groupBy(F.to_date("timestamp").alias("day")).count()
"""


@pytest.mark.more
def test_explain_prints_what_a_function_of_a_module_would_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.py").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    sound = command("explain", "job:counts")
    assert sound.returncode == 0, sound.stdout + sound.stderr
    assert 'waits for "rows"' in sound.stdout
    lost = command("explain", "job:days", "--json")
    assert lost.returncode == 1
    findings = json.loads(lost.stdout.splitlines()[-1])["findings"]
    assert (findings[0]["code"], findings[0]["severity"]) == ("MARK_LOST", "error")


@pytest.mark.parametrize("name", ["nowhere:counts", "json:counts", "json", ":", "json:"])
def test_explain_of_no_function_is_refused_by_its_name(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", name]) == 1
    errors = capsys.readouterr().err
    assert ".INVALID_OPTION]" in errors and repr(name) in errors
