"""Kills, starts again, compares."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree

from tqdm import tqdm

from common.folder import ROOT, fast_folder

from . import chain, chain_writers, inputs
from .history import MUCH_STATE, history
from .moments import CUT, Moment, cut_entry, found, scanned_nothing
from .plans import PLANS
from .worker import SIDES

NOTED = "noted"
"""Two queries. The second takes its watermark from the time that the first notes."""
MOST_AT_ONE_CASE = 8
"""Kills of one query, unless told; then it is let through, and the next one begins."""


class Case:
    """A query with inputs of its own, run undisturbed and killed."""

    def __init__(
        self, folder: Path, plan: str, seed: int, servers: str | None, *, forgets: bool = False
    ) -> None:
        self.name = f"{plan}, {'Kafka' if servers else 'Parquet'}, seed {seed}"
        self._pieces = dict(zip(SIDES, history(seed, plan), strict=True))
        self._servers = servers
        self.killed = folder / "killed"
        self.forgets = forgets
        self._folder = folder
        self._arguments = [str(folder), plan, str(seed)]
        self._more = [servers] if servers else []
        folder.mkdir(parents=True)
        if servers:
            for side, pieces in self._pieces.items():
                inputs.make_topic(servers, self._topic(side))
                inputs.fill_topic(servers, self._topic(side), pieces[:-1])

    def _topic(self, side: str) -> str:
        return f"{self._folder.name}-{side}"

    def bring_last(self) -> None:
        """The input's last piece comes."""
        for side, pieces in self._pieces.items():
            if self._servers:
                inputs.fill_topic(self._servers, self._topic(side), pieces[-1:])
            else:
                inputs.show_last(self._folder / side)

    def start(self, run: str) -> subprocess.Popen[bytes]:
        """A run of the query, in a process group of its own."""
        (self._folder / run).mkdir(exist_ok=True)
        with (self._folder / f"{run}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "kills.worker", *self._arguments, run, *self._more],
                cwd=ROOT / "examples",
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def let_through(self, run: str) -> list[str]:
        """Runs it to its end; the rows that it has put out.

        Raises:
            SystemExit: it failed; says so with the end of its log.
        """
        if self.start(run).wait():
            self.fail(run)
        rows: list[str] = json.loads((self._folder / run / "rows.json").read_text())
        return rows

    def fail(self, run: str) -> None:
        """Ends the program with what a run's log has at its end."""
        log = (self._folder / f"{run}.log").read_text(errors="replace")
        raise SystemExit(f"{self.name}: the {run} run failed.\n{log[-6000:]}")


def kill_once(case: Case, draw: random.Random) -> str | None:
    """Where the query was when it was killed; `None` where it came through before."""
    checkpoint = case.killed / "checkpoint"
    moment = Moment.draw(draw, checkpoint)
    process = case.start("killed")
    try:
        came = moment.wait(checkpoint, lambda: process.poll() is None)
    finally:
        # Python and the JVM that it started are one group, of which it is the leader.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not came:
        if process.returncode:
            case.fail("killed")
        return None
    is_cut = moment.name == CUT and cut_entry(checkpoint)
    place = "in the middle of its entry" if is_cut else found(checkpoint)
    if case.forgets:
        rmtree(checkpoint / "tidemark", ignore_errors=True)
    return f"{place}, after a batch that skipped a scan" if scanned_nothing(case.killed) else place


def run(case: Case, draw: random.Random, most: int) -> tuple[Counter[str], int]:
    """Kills a query up to so many times; where it was, and how many rows it puts out.

    Raises:
        SystemExit: rows are lost, doubled or changed.
    """
    # Each batch reads a share of the files: these have to be the same for both at any time.
    case.let_through("straight")
    places: Counter[str] = Counter()
    while places.total() < most and (place := kill_once(case, draw)) is not None:
        places[place] += 1
    case.let_through("killed")
    case.bring_last()
    expected, rows = case.let_through("straight"), case.let_through("killed")
    if rows != expected:
        lost, more = Counter(expected) - Counter(rows), Counter(rows) - Counter(expected)
        raise SystemExit(f"{case.name}: lost {dict(lost)}, doubled or changed {dict(more)}")
    return places, len(rows)


def main() -> None:
    """Runs cases until there were enough kills."""
    parser = argparse.ArgumentParser(prog="python -m kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=MOST_AT_ONE_CASE, help="kills of one query")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", nargs="*", choices=[*PLANS, NOTED], default=[*PLANS, NOTED])
    parser.add_argument("--no-kafka", action="store_true", help="files only")
    parser.add_argument(
        "--forget",
        action="store_true",
        help="takes Tidemark's entries away at each kill, and so has to find that rows differ",
    )
    options = parser.parse_args()
    draw = random.Random(options.seed)
    places: Counter[str] = Counter()
    cases = rows = 0
    with ExitStack() as stack:
        folder = stack.enter_context(fast_folder("tidemark-kills-"))
        servers = None
        if not options.no_kafka:
            from kafka_broker.broker import broker

            servers = stack.enter_context(broker(folder / "broker"))
            inputs.make_topic(servers, chain_writers.MARKS)
        bar = stack.enter_context(tqdm(total=options.kills, unit="kill"))
        while places.total() < options.kills:
            plan = options.plans[cases % len(options.plans)]
            # Files and Kafka in turn, and the other way round when a plan comes again.
            by_kafka = (
                servers if (cases % len(options.plans) + cases // len(options.plans)) % 2 else None
            )
            if plan in MUCH_STATE:
                # A batch of Kafka is to be small, and the first piece is one batch.
                by_kafka = None
            here, seed = folder / f"case-{cases}", options.seed + cases
            most = min(options.at_once, options.kills - places.total())
            bar.set_postfix_str(plan)
            if plan == NOTED:
                found_at, put_out = chain.run(here, seed, by_kafka, draw, most)
            else:
                case = Case(here, plan, seed, by_kafka, forgets=options.forget)
                found_at, put_out = run(case, draw, most)
            places += found_at
            cases, rows = cases + 1, rows + put_out
            bar.update(found_at.total())
    print(
        f"{places.total()} kills of {cases} queries: none of {rows} rows lost, doubled or changed."
    )
    for place, times in places.most_common():
        print(f"  {times:4} {place}")


if __name__ == "__main__":
    main()
