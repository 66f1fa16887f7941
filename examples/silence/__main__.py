"""The replay by all three rules, the table, and Tidemark's report."""

from __future__ import annotations

from common.engines import ENGINES
from common.folder import out_folder
from common.workers import run_all

from .outcome import Outcome
from .promise import broken
from .steps import BACK_IN, IDLE_TEXT
from .table import table
from .worker import RULES


def main() -> None:
    """Runs everything and prints what came of it.

    Raises:
        SystemExit: something came out otherwise than its rule says.
    """
    print(
        "Two inputs in one count by the minute, forty steps. The quiet one pauses for three steps, and\n"
        "is silent from step 10 on; then it comes back with all of the 600 rows that it has kept.\n",
        flush=True,
    )
    steps = {engine: (BACK_IN + 1) * len(RULES[engine]) for engine in ENGINES}
    documents = run_all("silence.worker", out_folder("silence"), steps)
    outcomes = [Outcome.from_json(outcome) for engine in ENGINES for outcome in documents[engine]]
    print("\n" + table(outcomes))
    for outcome in outcomes:
        if outcome.report:
            print(
                f"\nWith Tidemark no window was held back for more than {max(outcome.held):.1f} s: idle_after is "
                f"{IDLE_TEXT}, the longest\nbatch took {outcome.longest_batch:.1f} s. "
                f"tidemark.report(query), while the input was silent:\n\n{outcome.report}"
            )
    differences = [difference for outcome in outcomes for difference in broken(outcome)]
    if differences:
        raise SystemExit("\n".join(["\nThis is not what the rules say:", *differences]))


if __name__ == "__main__":
    main()
