"""The command line: what is wanted before there is a notebook, and when something is wrong at night."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from tidemark._command.check import check
from tidemark._command.log import LogError, as_text, last_batches
from tidemark._errors import TidemarkError, invalid_option
from tidemark._queries.explain import explain
from tidemark._session.configure import configure
from tidemark._session.jars import jar_path
from tidemark._version import __version__
from tidemark_marks.shared import add_commands, printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run(arguments: Sequence[str]) -> int:
    """Runs a command.

    Args:
        arguments: Those behind `python -m tidemark`.

    Returns:
        0; 1 if `check` has found a problem, `explain` an error or a warning, if rows up to the time
        of `complete` are missing, or if a command has failed. 2 if `complete` has failed, or the
        arguments are wrong.
    """
    given = _parser().parse_args(arguments)
    try:
        return int(given.command(given))
    except (TidemarkError, LogError) as error:
        sys.stderr.write(f"{error}\n")
        return int(given.failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tidemark", description=f"Tidemark {__version__}")
    parser.set_defaults(failed=1)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    jar = commands.add_parser("jar", help="print the path of the jar for spark-submit --jars")
    jar.add_argument("--spark", metavar="VERSION", help="for this Spark; pyspark's by default")
    jar.set_defaults(command=_jar)
    checks = commands.add_parser(
        "check",
        aliases=["doctor"],
        help="check versions, jar and extension, and run one streaming query",
    )
    checks.add_argument("--json", action="store_true", help="print the findings as JSON")
    checks.set_defaults(command=_check)
    logs = commands.add_parser(
        "log", help="print why nothing came out of a query, and the watermarks in its checkpoint"
    )
    logs.add_argument("checkpoint", help="the query's checkpointLocation")
    logs.add_argument(
        "--batches", type=_many, default=10, metavar="N", help="how many of the last (10)"
    )
    logs.add_argument("--json", action="store_true", help="print one JSON object a line")
    logs.set_defaults(command=_log)
    explains = commands.add_parser(
        "explain", help="print what a DataFrame would wait for, and what is wrong with it"
    )
    explains.add_argument(
        "function", metavar="MODULE:FUNCTION", help="it takes the session and returns the DataFrame"
    )
    explains.add_argument("--mode", default="append", choices=["append", "update", "complete"])
    explains.add_argument(
        "--trigger", choices=["availableNow"], help="the query's trigger, if that is availableNow"
    )
    explains.add_argument("--json", action="store_true", help="print the findings as JSON")
    explains.set_defaults(command=_explain)
    add_commands(commands)
    return parser


def _many(text: str) -> int:
    number = int(text)
    if not 1 <= number < _MOST_BATCHES:
        raise ValueError
    return number


def _jar(given: argparse.Namespace) -> int:
    _say(jar_path(given.spark))
    return 0


def _check(given: argparse.Namespace) -> int:
    with _session() as spark:
        diagnosis = check(spark)
    if given.json:
        findings = [vars(finding) for finding in diagnosis.findings]
        _say(json.dumps({"ok": diagnosis.ok, "version": __version__, "findings": findings}))
    else:
        _say(str(diagnosis))
    return 0 if diagnosis.ok else 1


def _log(given: argparse.Namespace) -> int:
    rows = last_batches(given.checkpoint, given.batches)
    for line in map(json.dumps, rows) if given.json else as_text(rows):
        _say(line if given.json else printable(line))
    return 0


def _explain(given: argparse.Namespace) -> int:
    make = _function(given.function)
    with _session() as spark:
        explained = explain(make(spark), output_mode=given.mode, trigger=given.trigger)
    if given.json:
        shown = {name: [vars(part) for part in getattr(explained, name)] for name in _EXPLAINED}
        _say(json.dumps(shown))
    else:
        _say(str(explained))
    return int(any(finding.severity != "info" for finding in explained.findings))


def _function(name: str) -> Callable[[SparkSession], DataFrame]:
    """A function of a module, which may be a file in the working directory."""
    module, _, function = name.partition(":")
    sys.path.insert(0, "")
    allowed = "a module and a function in it, as in jobs.hourly:revenue"
    try:
        imported = import_module(module)
    except (ModuleNotFoundError, ValueError) as error:
        # What the module itself imports is not what was named.
        other = error.name if isinstance(error, ModuleNotFoundError) else None
        if other and not f"{module}.".startswith(f"{other}."):
            raise
        raise invalid_option("MODULE:FUNCTION", name, allowed) from error
    found: Callable[[SparkSession], DataFrame] | None = getattr(imported, function, None)
    if not callable(found):
        raise invalid_option("MODULE:FUNCTION", name, allowed)
    return found


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


@contextmanager
def _session() -> Iterator[SparkSession]:
    """A small session on this machine, which says nothing of its own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("tidemark")
    for key, value in _QUIET.items():
        builder = builder.config(key, value)
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


# What the engine can count.
_MOST_BATCHES = 2**31
_EXPLAINED = ("operators", "findings")
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
