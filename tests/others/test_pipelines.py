"""Declarative Pipelines beside Delta, whose tables several flows may write."""

from __future__ import annotations

import json
from pathlib import Path

from support.feeds import clock
from support.processes import run_script

from others.conftest import JARS

PIPELINE = """
name: both
storage: {storage}
libraries:
  - glob:
      include: transformations/**
"""

FLOWS = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import tidemark

dp.create_streaming_table("both", format="delta")


def by_hour(feed):
    rows = SparkSession.active().readStream.schema("k STRING, t TIMESTAMP").json("{inputs}/" + feed)
    rows = tidemark.with_watermark(rows, "t", "0 seconds", key=feed, split_by="k")
    hours = rows.groupBy(F.window("t", "1 hour"), "k").count()
    return hours.select("k", F.col("window.start").alias("start"), "count")


@dp.append_flow(target="both")
def both_fast():
    return by_hour("fast")


@dp.append_flow(target="both")
def both_slow():
    return by_hour("slow")
"""


def test_each_of_two_flows_into_one_table_has_a_watermark_of_its_own(tmp_path: Path) -> None:
    for feed, clocks in {"fast": ("10:05", "12:20"), "slow": ("08:30", "09:10")}.items():
        folder = tmp_path / feed
        folder.mkdir()
        rows = [json.dumps({"k": feed, "t": clock(time).isoformat()}) for time in clocks]
        (folder / "1.json").write_text("\n".join(rows), encoding="utf-8")
    folder = tmp_path / "pipeline"
    (folder / "transformations").mkdir(parents=True)
    (folder / "spark-pipeline.yml").write_text(
        PIPELINE.format(storage=(folder / "storage").as_uri()), encoding="utf-8"
    )
    flows = FLOWS.replace("{inputs}", str(tmp_path))
    (folder / "transformations" / "both.py").write_text(flows, encoding="utf-8")
    settings = {
        "spark.jars": ",".join(map(str, JARS)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    found = run_script(
        "pipelines.py",
        str(folder),
        "both",
        "both_fast,both_slow",
        json.dumps(settings),
        SPARK_TESTING="1",
    )
    assert found["rows"] == [
        ["fast", "2024-01-01 10:00:00", "1"],
        ["slow", "2024-01-01 08:00:00", "1"],
    ]
    assert [report["keys"] for report in found["reports"]] == [["fast"], ["slow"]]
