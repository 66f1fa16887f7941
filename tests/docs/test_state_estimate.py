"""The SQL estimates of state and lost rows in a guide match the reference model."""

from __future__ import annotations

from collections import defaultdict

import pytest
from pyspark.sql import SparkSession
from support.backlog import oracle
from support.pages import ROOT, blocks


@pytest.mark.more
@pytest.mark.classic
@pytest.mark.usefixtures("one_partition")
def test_the_sql_state_estimate_matches_the_reference_model(spark: SparkSession) -> None:
    statements = blocks(ROOT / "docs" / "guides" / "state-size.md", "sql")
    *views, lost, peak = [spark.sql(block.text) for block in statements]
    try:
        estimated = lost.first().asDict() | peak.first().asDict()
        batches: list[dict[int, list[int]]] = []
        rows = spark.sql("SELECT batch, partition, unix_seconds(order_time) AS time FROM replay")
        of_batch = defaultdict(lambda: defaultdict(list))
        for row in rows.collect():
            of_batch[row.batch][row.partition].append(row.time)
        batches = [of_batch[batch] for batch in sorted(of_batch)]
    finally:
        for block in statements[: len(views)]:
            spark.catalog.dropTempView(block.text.split()[5])
    total = sum(len(times) for batch in batches for times in batch.values())
    expected: dict[str, int] = {"rows": total}
    for name, rule in (
        ("with_one_clock", oracle.by_the_newest),
        ("by_split", oracle.by_the_oldest),
    ):
        outcome = oracle.tell(batches, rule)
        kept = sum(batch.rows for batch in outcome.given) + sum(count for _, count in outcome.left)
        expected[f"lost_{name}"] = total - kept
        expected[f"peak_{name}"] = outcome.peak_state
    assert estimated == expected
    # Enough rows are late, or kept in state, for the two rules to differ.
    assert estimated["lost_with_one_clock"] > 1000
    assert estimated["peak_by_split"] > 5 * estimated["peak_with_one_clock"]
