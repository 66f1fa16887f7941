"""The drawn histories that Python and the engine both run: the file has what is drawn, and a run sees what is wrong."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from support.marks_drawn import SEEDS, compact, draw
from support.marks_replay import Json, replay
from support.marks_vectors import DRAWN

VECTORS: list[Json] = json.loads(DRAWN.read_text(encoding="utf-8"))["suites"][0]["vectors"]
FEW = 6


@pytest.mark.parametrize(
    "number",
    [*range(FEW), *(pytest.param(n, marks=pytest.mark.more) for n in range(FEW, len(SEEDS)))],
)
def test_the_file_has_what_is_drawn(tmp_path: Path, number: int) -> None:
    assert compact(VECTORS[number]) == compact(draw(SEEDS[number], tmp_path))


@pytest.mark.more
@pytest.mark.parametrize("seed", range(50, 300))
def test_no_row_of_any_history_is_late(tmp_path: Path, seed: int) -> None:
    assert list(replay(draw(seed, tmp_path / "drawn"), tmp_path / "log")) == []


@pytest.mark.parametrize(("number", "place"), [(0, ["never"]), (2, [0, 999])])
def test_a_row_that_is_late_is_named(tmp_path: Path, number: int, place: list[str | int]) -> None:
    vector = copy.deepcopy(VECTORS[number])
    vector["steps"][0].setdefault("rows", []).append(["eu", *place, 1])
    problems = list(replay(vector, tmp_path))
    assert problems and all("late" in problem for problem in problems)


def test_another_answer_is_named(tmp_path: Path) -> None:
    vector = copy.deepcopy(VECTORS[0])
    number, step = next((n, step) for n, step in enumerate(vector["steps"]) if "lower" in step)
    step["lower"] -= 1
    (problem,) = replay(vector, tmp_path)
    assert problem.startswith(f"step {number + 1}: expected")
