"""Runs a backlog by both engines and by both rules, and prints what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from common.engines import ENGINES, NAMES, Engine
from common.workers import run_all

from . import oracle, promise
from .case import Case
from .oracle import Batch, Rule
from .table import table
from .told import Rows, Split, Told

RULES: dict[Engine, Rule] = {"stock": oracle.by_the_newest, "tidemark": oracle.by_the_oldest}
ALONE = "  its rule alone"


def show(case: Case, batches: Sequence[Batch], folder: Path, source: str) -> None:
    """Prints the table.

    Raises:
        SystemExit: an engine did not do, row for row, what its rule says.
    """
    alone = {engine: oracle.tell(batches, RULES[engine]) for engine in ENGINES}
    steps = {engine: alone[engine].batches for engine in ENGINES}
    documents = run_all("backlog.worker", folder, steps, case.name, source)
    lines: list[tuple[str, Told]] = []
    broken: list[str] = []
    for engine in ENGINES:
        outcome = Told.from_json(documents[engine])
        lines += [(_name(engine, case), outcome), (ALONE, alone[engine])]
        broken += promise.differences(NAMES[engine], outcome, alone[engine])
    print("\n" + table(lines, rows_of(batches)))
    if broken:
        raise SystemExit("\n".join(["\nThis is not what the rules say:", *broken]))
    print("\nBoth engines gave out what their rules say, line for line and batch for batch.")


def _name(engine: Engine, case: Case) -> str:
    splits = [case.split_by] if isinstance(case.split_by, str) else case.split_by
    return f"Tidemark by {', '.join(splits)}" if engine == "tidemark" else NAMES[engine]


def rows_of(batches: Sequence[Batch]) -> Rows:
    """How many rows each part of the input has."""
    rows: Counter[Split] = Counter()
    for batch in batches:
        for split, times in batch.items():
            rows[split] += len(times)
    return rows
