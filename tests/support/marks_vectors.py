"""Runs the conformance vectors about marks against Python: `make vectors` prints the result.

The suites `pravega.*` of `conformance.json`, `noted` of `noted.json`, and `noted.drawn` of
`noted-drawn.json`, beside it. A vector with an operation or a field that is not known here is not
run, and is named with the reason.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from support.marks import log_at, put
from support.marks_replay import Json, replay
from support.pravega import PravegaWindows, Segments, TimedStream
from tidemark import TidemarkError
from tidemark_marks._protocol.position import encode_position, read_position
from tidemark_marks._reading.aggregation import Aggregate

FOLDER = Path(__file__).parent.parent.parent / "jvm" / "src" / "test" / "resources" / "vectors"
DRAWN = FOLDER / "noted-drawn.json"


_NOTED = ("noted", "noted.drawn")


class UnknownError(Exception):
    """The vector says something that is not understood here."""


@dataclass
class Outcome:
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)


def run(files: list[Path]) -> Outcome:
    outcome = Outcome()
    for file in files:
        content = json.loads(file.read_text(encoding="utf-8"))
        for suite in content["suites"]:
            if suite["suite"].startswith("pravega.") or suite["suite"] in _NOTED:
                for vector in suite["vectors"]:
                    _run(suite["suite"], vector, outcome)
    return outcome


def _run(suite: str, vector: Json, outcome: Outcome) -> None:
    try:
        problems = list(_runner(suite, vector)(vector))
    except UnknownError as unknown:
        outcome.not_run.append(f"{vector['id']}: {unknown}")
        return
    if problems:
        outcome.failed += [f"{vector['id']} {problem}" for problem in problems]
    else:
        outcome.passed.append(vector["id"])


def _runner(suite: str, vector: Json) -> Callable[[Json], Iterator[str]]:
    fields = vector.keys() - {"id", "name", "note"}
    known: dict[str, list[tuple[set[str], Callable[[Json], Iterator[str]]]]] = {
        "pravega.controller": [
            ({"timeout", "ranges", "epochs", "steps"}, _workflow),
            ({"rows"}, _table),
        ],
        "pravega.reader": [({"cut", "cases"}, _compare), ({"marks", "steps"}, _windows)],
        "noted": [({"marks", "log", "expected", "idle_after", "max_ahead", "steps"}, _noted)],
        "noted.drawn": [({"readers", "marks", "steps"}, _drawn)],
    }
    for names, runner in known.get(suite, []):
        if (fields <= names) if suite in _NOTED else fields == names:
            return runner
    raise UnknownError(f"a vector of {suite} with the fields {', '.join(sorted(fields))}")


def _expect(where: str, expected: object, actual: object) -> Iterator[str]:
    if expected != actual:
        yield f"{where}: expected {expected}, actual {actual}"


def _numbers(position: dict[str, int]) -> dict[int, int]:
    return {int(segment): offset for segment, offset in position.items()}


def _workflow(vector: Json) -> Iterator[str]:
    ranges = {int(segment): (low, high) for segment, (low, high) in vector["ranges"].items()}
    segments = Segments(ranges, [int(segment) for segment in vector["epochs"][0]])
    stream = TimedStream(segments.cut, vector["timeout"])
    epochs = iter(vector["epochs"][1:])
    for number, (op, *arguments) in enumerate(vector["steps"], start=1):
        if op == "mark":
            writer, time, position = arguments
            stream.note(writer, time, _numbers(position))
        elif op == "run":
            stream.now_millis, expected = arguments
            emitted = stream.run()
            actual = emitted and {
                "lower": emitted.lower_millis,
                "upper": emitted.upper_millis,
                "cut": {str(segment): offset for segment, offset in sorted(emitted.cut.items())},
            }
            yield from _expect(f"step {number} (run)", expected, actual)
        elif op == "scale":
            segments.highest = [int(segment) for segment in next(epochs)]
        elif op == "shutdown":
            stream.shutdown(*arguments)
        elif op == "gone":
            yield from _expect(f"step {number} (gone)", False, arguments[0] in stream.writers)
        else:
            raise UnknownError(f"operation '{op}'")


def _table(vector: Json) -> Iterator[str]:
    for number, row in enumerate(vector["rows"], start=1):
        unknown = row.keys() - {
            "prev",
            "time",
            "timeout",
            "active",
            "participating",
            "tracked",
            "note",
        }
        if unknown:
            raise UnknownError(f"a row with {', '.join(sorted(unknown))}")
        previous = None if row["prev"] is None else Aggregate(row["prev"], row["prev"], {})
        stream = TimedStream(Segments({}).cut, row["timeout"], previous)
        stream.note("w", row["time"], {})
        after = 1000 if "after it was first tracked" in row.get("note", "") else 0
        stream.is_active("w")
        stream.now_millis = after
        where = f"row {number}"
        yield from _expect(f"{where} (active)", row["active"], stream.is_active("w"))
        yield from _expect(
            f"{where} (participating)", row["participating"], stream.is_participating("w")
        )
        if "tracked" in row:
            is_tracked = "w" in stream.behind_since
            yield from _expect(f"{where} (tracked)", row["tracked"], is_tracked)


def _reader_segments() -> Segments:
    # As the suite's note says: 0 and 2 are one half of the keys, 1 and 3 the other.
    return Segments({0: (0, 0.5), 2: (0, 0.5), 1: (0.5, 1), 3: (0.5, 1)})


def _compare(vector: Json) -> Iterator[str]:
    cut = _numbers(vector["cut"])
    for number, (read, expected) in enumerate(vector["cases"], start=1):
        actual = _reader_segments().compare(_numbers(read), cut)
        yield from _expect(f"case {number}", expected, actual)


def _windows(vector: Json) -> Iterator[str]:
    marks = [Aggregate(lower, upper, _numbers(cut)) for cut, lower, upper in vector["marks"]]
    reader = PravegaWindows(_reader_segments(), marks)
    for number, (op, *arguments) in enumerate(vector["steps"], start=1):
        if op == "advance":
            reader.advance(_numbers(arguments.pop(0)))
        elif op != "window":
            raise UnknownError(f"operation '{op}'")
        yield from _expect(f"step {number} ({op})", tuple(arguments), reader.window())


def _noted(vector: Json) -> Iterator[str]:
    options: Json = {"expected": vector.get("expected", ())}
    for name in ("idle_after", "max_ahead"):
        millis = vector.get(name)
        options[name] = None if millis is None else timedelta(milliseconds=millis)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        put(folder, vector.get("marks", ()))
        for name, text in vector.get("log", {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        for number, step in enumerate(vector["steps"], start=1):
            yield from _noted_step(f"step {number}", folder, options, dict(step))


def _noted_step(where: str, folder: Path, options: Json, step: Json) -> Iterator[str]:
    log = log_at(folder, step.pop("now", 0), **options)
    is_at_end = step.pop("at_end", False)
    step.pop("note", None)
    if "skipped" in step:
        yield from _expect(where, step.pop("skipped"), [line.reason for line in log.read().skipped])
    if "cut_at" in step:
        time = step.pop("cut_at")
        yield from _answer(
            where, step, lambda: {"cut": json.loads(encode_position(log.cut_at(time).position))}
        )
    elif "read" in step:
        read = read_position(step.pop("read"))
        window = lambda: vars(log.window(read, is_at_end=is_at_end))  # noqa: E731
        yield from _answer(
            where,
            step,
            lambda: {name.removesuffix("_millis"): value for name, value in window().items()},
        )
    if step:
        raise UnknownError(f"a step with {', '.join(sorted(step))}")


def _drawn(vector: Json) -> Iterator[str]:
    known = {"now", "log", "rows", "reader", "read", "at_end", "lower", "upper", "excused", "done"}
    unknown = {field for step in vector["steps"] for field in step.keys() - known}
    if unknown:
        raise UnknownError(f"a step with {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as made:
        yield from replay(vector, Path(made))


def _answer(where: str, step: Json, ask: Callable[[], Json]) -> Iterator[str]:
    try:
        actual = ask()
    except TidemarkError as error:
        actual = {"refused": error.code}
    expected = {
        name: step.pop(name) for name in ("lower", "upper", "cut", "refused") if name in step
    }
    yield from _expect(where, expected, {name: actual.get(name) for name in expected})
    yield from _expect(where, "refused" in expected, "refused" in actual)


def files() -> list[Path]:
    """The files to run: that of `TIDEMARK_VECTORS`, else the project's own."""
    named = os.environ.get("TIDEMARK_VECTORS")
    return [Path(named)] if named else [FOLDER / "conformance.json", FOLDER / "noted.json", DRAWN]


def main() -> None:
    outcome = run(files())
    for text in [f"FAILED {vector}" for vector in outcome.failed]:
        print(text)
    for text in [f"not run: {vector}" for vector in outcome.not_run]:
        print(text)
    counts = (len(outcome.passed), len(outcome.failed), len(outcome.not_run))
    print("marks (Python): {} passed, {} failed, {} not run".format(*counts))
    sys.exit(1 if outcome.failed else 0)


if __name__ == "__main__":
    main()
