"""Answers small questions about flights in several ways; prints what each way loses, and how long its results wait.

python -m compare
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations

from tqdm import tqdm

from common.folder import fast_folder
from common.session import session

from .cases import Case, cases
from .figures import figures
from .inputs import STEPS
from .replay import Replay
from .rule import Outcome
from .table import CAPTION, advice, in_both, table

SETTINGS = {
    # For a few rows a batch it costs more to generate code than to interpret.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
AT_ONCE = 2
"""How many ways are replayed at a time."""

Outcomes = Mapping[str, Outcome]
"""Of a case, by the name of the way."""


def replay(all_: Sequence[Case]) -> list[Outcomes]:
    """What came out of each way of each case."""
    with fast_folder("compare-") as folder, tqdm(desc="replaying", unit="step") as bar:
        spark = session("tidemark", folder / "spark", "compare", SETTINGS)
        replays = [
            [
                Replay(spark, way, case.today.rows, folder / f"{number}-{place}")
                for place, way in enumerate(case.ways)
            ]
            for number, case in enumerate(all_)
        ]
        bar.reset(sum(map(len, replays)) * (STEPS + 1))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            running = [
                [pool.submit(replay.play, bar.update) for replay in of_case] for of_case in replays
            ]
            found = [[future.result() for future in of_case] for of_case in running]
        spark.stop()
    return [
        {way.name: outcome for way, outcome in zip(case.ways, outcomes, strict=True)}
        for case, outcomes in zip(all_, found, strict=True)
    ]


def main() -> None:
    """Replays all cases and prints what came of them.

    Raises:
        SystemExit: what came out of a way differs from its rule.
    """
    print(
        "Flights of New York's airports on 2013-11-01, by steps of half an hour. LaGuardia's link is down for\n"
        "two hours. Where a way has a longer delay, it is the smallest one that loses nothing of this day.\n",
        flush=True,
    )
    all_ = cases()
    outcomes = replay(all_)
    found = [
        {way.name: figures(case, way, outcomes_of[way.name]) for way in case.ways}
        for case, outcomes_of in zip(all_, outcomes, strict=True)
    ]
    for case, of_case in zip(all_, found, strict=True):
        print("\n" + "\n".join([table(case, of_case), "", *advice(of_case)]) + "\n")
    for first, other in combinations(range(len(all_)), 2):
        if all_[first].ways is all_[other].ways:
            print(f"{in_both(found[first], found[other])}\n")
    print(CAPTION)
    differences = [*_differences(all_, outcomes)]
    if differences:
        raise SystemExit("\n".join(["\nThis is not what the rules say:", *differences]))


def _differences(all_: Sequence[Case], outcomes: Sequence[Outcomes]) -> Iterator[str]:
    for case, of_case in zip(all_, outcomes, strict=True):
        for way in case.ways:
            expected, found = way.rule(case.today.rows), of_case[way.name]
            if expected.peak_state is None:
                expected = replace(expected, peak_state=found.peak_state)
            if found != expected:
                yield f"{case.title}, {way.name}: {found}. By its rule: {expected}."


if __name__ == "__main__":
    main()
