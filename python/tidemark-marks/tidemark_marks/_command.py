"""The command line, `python -m tidemark_marks`: what a shell script or a scheduler asks of a mark log."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tidemark_marks._marks import Marks
from tidemark_marks._printing import printable
from tidemark_marks._protocol.times import shown
from tidemark_marks._version import __version__
from tidemark_marks.errors import TidemarkError, invalid_option


def run(arguments: Sequence[str]) -> int:
    """Runs a command.

    Args:
        arguments: Those behind `python -m tidemark_marks`.

    Returns:
        0; 1 if rows up to the time of `complete` are missing, or `marks` has failed. 2 if `complete`
        has failed, or the arguments are wrong.
    """
    about = f"Tidemark's mark logs {__version__}"
    parser = argparse.ArgumentParser("python -m tidemark_marks", description=about)
    parser.set_defaults(failed=1)
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    given = parser.parse_args(arguments)
    try:
        return int(given.command(given))
    except TidemarkError as error:
        sys.stderr.write(f"{error}\n")
        return int(given.failed)


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds `complete` and `marks`. Each sets `command`, and `complete` sets `failed`, its exit code."""
    complete = commands.add_parser(
        "complete", help="say whether every row up to a time has arrived: exit code 0, or 1 if not"
    )
    _add_log(complete)
    complete.add_argument("time", help="with an offset, as in 2026-11-23T13:00:00Z")
    complete.add_argument(
        "--expected", action="append", default=[], metavar="WRITER", help="holds until it has noted"
    )
    complete.add_argument("--only-expected", action="store_true", help="ignore other writers")
    complete.add_argument(
        "--idle-after", type=float, metavar="SECONDS", help="leave out writers that are silent"
    )
    complete.set_defaults(command=_complete, failed=2)
    marks = commands.add_parser("marks", help="print the marks of a log")
    _add_log(marks)
    marks.set_defaults(command=_marks)


def _add_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", help="the folder of a mark log, or kafka:TOPIC/STREAM")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of confluent-kafka, such as bootstrap.servers",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _complete(given: argparse.Namespace) -> int:
    idle_after = None if given.idle_after is None else timedelta(seconds=given.idle_after)
    log = _open(
        given, expected=given.expected, only_expected=given.only_expected, idle_after=idle_after
    )
    time = int(given.time) if given.time.lstrip("-").isdigit() else given.time
    is_complete = log.is_complete(time)
    waiting = () if is_complete else log.waiting_for(time)
    if given.json:
        found = {"complete": is_complete, "waiting_for": [vars(writer) for writer in waiting]}
        _say(json.dumps(found))
    else:
        _say("complete" if is_complete else "not complete")
        for writer in waiting:
            _say(printable(f"waits for {writer}"))
    return 0 if is_complete else 1


def _marks(given: argparse.Namespace) -> int:
    found = _open(given).read()
    for mark in found.marks:
        if given.json:
            _say(json.dumps(mark._asdict()))
        else:
            time = "" if mark.time_millis is None else shown(mark.time_millis)
            written = shown(mark.written_millis)
            writer = printable(mark.writer)
            _say(f"{writer}\t{mark.epoch}\t{mark.number}\t{mark.kind}\t{time}\t{written}")
    for line in found.skipped:
        said = f"{line.file}, line {line.line}: cannot be used ({line.reason})"
        sys.stderr.write(f"{printable(said)}\n")
    return 0


def _open(given: argparse.Namespace, **options: Any) -> Marks:
    settings: dict[str, str] = {}
    for option in given.option:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise invalid_option("--option", option, "NAME=VALUE")
        settings[name] = value
    return Marks(given.log, options=settings or None, **options)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
