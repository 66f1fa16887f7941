"""A small share of `make kill`, and a check that the program would notice a lost row."""

from __future__ import annotations

import random
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support.processes import run_example

from kills import __main__ as kills
from kills.moments import Moment, cut_entry, found, last


def killing(*arguments: str) -> CompletedProcess[str]:
    """Runs the program without Kafka."""
    return run_example("kills", "--no-kafka", *arguments)


@pytest.mark.kill
@pytest.mark.timeout(900)
def test_repeated_kills_do_not_change_the_emitted_rows() -> None:
    """Uses so many splits that checkpoint entries contain only the changes."""
    done = killing("--kills", "3", "--plans", "many")
    assert done.returncode == 0, done.stderr[-6000:]
    assert "3 kills of 1 queries: none of" in done.stdout


@pytest.mark.kill
@pytest.mark.timeout(900)
def test_two_queries_by_noted_time_and_their_writers_are_killed_and_lose_nothing() -> None:
    done = killing("--kills", "3", "--plans", "noted", "--seed", "3")
    assert done.returncode == 0, done.stderr[-6000:]
    assert "3 kills of 1 queries: none of" in done.stdout


@pytest.mark.kill
@pytest.mark.timeout(900)
def test_two_queries_with_kafka_between_them_and_marks_in_a_topic_are_killed_and_lose_nothing() -> (
    None
):
    done = run_example("kills", "--kills", "4", "--at-once", "2", "--plans", "noted", "--seed", "4")
    assert done.returncode == 0, done.stderr[-6000:]
    assert "4 kills of 2 queries: none of" in done.stdout


@pytest.mark.kill
@pytest.mark.timeout(900)
def test_the_kill_check_detects_rows_lost_when_restarts_forget_watermarks() -> None:
    done = killing("--kills", "8", "--plans", "windows", "--forget")
    assert done.returncode != 0, done.stdout
    assert "windows, Parquet, seed 1: lost {" in done.stderr, done.stderr[-6000:]


class Pretended(kills.Case):
    """A case whose runs emit the given rows."""

    def __init__(self, folder: Path, straight: list[str], killed: list[str]) -> None:
        self.name = "pretended"
        self.killed = folder / "killed"
        self.forgets = False
        self._rows = {"straight": straight, "killed": killed}

    def bring_last(self) -> None:
        """There is no input."""

    def let_through(self, run: str) -> list[str]:
        return self._rows[run]


@pytest.mark.parametrize(
    ("killed", "message"), [(["a"], "lost {'b': 1}"), (["a", "b", "b"], "changed {'b': 1}")]
)
def test_the_kill_check_fails_on_a_lost_or_duplicated_row(
    killed: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=message):
        kills.run(Pretended(tmp_path, ["a", "b"], killed), random.Random(1), most=0)
    places, rows = kills.run(Pretended(tmp_path, ["a"], ["a"]), random.Random(1), most=0)
    assert (places.total(), rows) == (0, 1)


def test_checkpoint_files_show_where_a_killed_query_stopped(tmp_path: Path) -> None:
    def leave(log: str, name: str) -> None:
        (tmp_path / log).mkdir(exist_ok=True)
        (tmp_path / log / name).write_bytes(b"12345678")

    assert last(tmp_path, "offsets") == -1
    leave("offsets", "0")
    assert found(tmp_path) == "in a batch, before its entry"
    # The file exists before anything is written to it.
    (tmp_path / "tidemark").mkdir()
    (tmp_path / "tidemark" / "0.changes").touch()
    assert found(tmp_path) == "in a batch, before its entry"
    assert not cut_entry(tmp_path)
    leave("tidemark", "0.changes")
    leave("tidemark", ".0.changes.crc")
    assert found(tmp_path) == "entry written, not committed"
    assert cut_entry(tmp_path)
    assert [p.name for p in (tmp_path / "tidemark").iterdir()] == ["0.changes"]
    assert (tmp_path / "tidemark" / "0.changes").read_bytes() == b"1234"
    leave("commits", "0")
    assert found(tmp_path) == "between two batches"
    # The entry of a committed batch is left alone.
    assert not cut_entry(tmp_path)


def test_kill_moments_target_the_next_three_batches_of_a_live_run(tmp_path: Path) -> None:
    drawn = [Moment.draw(random.Random(seed), tmp_path) for seed in range(60)]
    assert {moment.batch for moment in drawn} == {0, 1, 2}
    assert len({moment.name for moment in drawn}) == 7
    assert not any(moment.wait(tmp_path, lambda: False) for moment in drawn)
