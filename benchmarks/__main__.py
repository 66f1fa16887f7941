"""Whole queries, by stock Spark and by Tidemark in turn, in one session: what Tidemark costs.

Run by `make bench`; `python benchmarks --rounds 3 --quick` for a first look. Each figure is the ratio Tidemark / stock
of runs that followed one another, as median and range, so that a machine whose speed drifts does not decide.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# The folder of what the benchmarks share with the examples.
sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

from calls import calls
from latency import latency
from marks import marks
from nexmark import STORES, nexmark
from nexmark_data import Sizes
from noted import noted
from order import order
from pyspark.sql import SparkSession
from rows import rows
from splits import splits
from state import states
from topic import topic
from triggers import triggers

import tidemark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=5, help="runs of each engine, after one that does not count"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rows and inputs")
    parser.add_argument(
        "--only",
        choices=(
            "rows",
            "splits",
            "triggers",
            "state",
            "nexmark",
            "marks",
            "topic",
            "latency",
            "order",
            "async",
        ),
        help="one of them; else all",
    )
    parser.add_argument(
        "--stores",
        nargs="+",
        choices=STORES,
        default=list(STORES),
        help="for state, order and Nexmark",
    )
    parser.add_argument("--folder", type=Path, default=Path("target"), help="for marks: the disk")
    options = parser.parse_args()
    million_marks = 0.1 if options.quick else 1
    if options.only in (None, "marks"):
        marks(options.folder, 1000 if options.quick else 5000, million_marks)
    if options.only in (None, "topic"):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            topic(Path(folder), 200 if options.quick else 1000, million_marks)
    if options.only == "topic":
        return
    builder = SparkSession.builder.master("local[1]").appName("tidemark benchmarks")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "3g",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        # A file is one task's work.
        "spark.sql.files.maxPartitionBytes": "4g",
    }.items():
        builder = builder.config(key, value)
    spark = tidemark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    million = 2 if options.quick else 10
    measured: dict[str, Callable[[], None]] = {
        "rows": lambda: rows(spark, options.rounds, million),
        "splits": lambda: splits(
            spark,
            options.rounds,
            million,
            (1_000, 100_000, *([] if options.quick else [1_000_000])),
        ),
        "marks": lambda: noted(spark, options.rounds, million, million_marks),
        "latency": lambda: latency(spark, 30 if options.quick else 120),
        "async": lambda: calls(spark, options.rounds, 20_000 if options.quick else 100_000),
        "triggers": lambda: triggers(
            spark, options.rounds, (1, 2) if options.quick else (1, 2, 8, 32)
        ),
        "state": lambda: states(
            spark,
            options.rounds,
            (50_000, 500_000) if options.quick else (50_000, 500_000, 5_000_000),
            options.stores[:1] if options.quick else options.stores,
        ),
        "order": lambda: order(
            spark,
            options.rounds,
            20_000 if options.quick else 100_000,
            [10] if options.quick else [1, 10, 100, 1_000],
            options.stores[:1] if options.quick else options.stores,
        ),
        "nexmark": lambda: (
            nexmark(spark, options.rounds, Sizes(2, 80_000), options.stores[:1])
            if options.quick
            else nexmark(spark, options.rounds, Sizes(5, 200_000), options.stores)
        ),
    }
    try:
        for part in [options.only] if options.only else measured:
            measured[part]()
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
