"""A pipeline on a Spark Connect server that goes on: a table of it, and the reports of the flows that write it.

Arguments: the pipeline's folder, the table, its flows with commas between them, and settings of the session as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import cast

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession
from support.processes import result, run_program

import tidemark

pipeline, table, flows, settings = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
builder = (
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.warehouse.dir", str(pipeline / "warehouse"))
    .config("spark.ui.enabled", "false")
)
for name, value in json.loads(settings).items():
    builder = builder.config(name, value)
spark = tidemark.configure(builder).getOrCreate()

server = cast(ConnectSession, spark).client._builder.endpoint
command = [str(Path(pyspark.__file__).parent / "bin" / "spark-pipelines"), "run"]
token = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
kept = {name: os.environ[name] for name in ("ORDERS", "RETURNS", token) if name in os.environ}
done = run_program([*command, "--remote", f"sc://{server}"], pipeline, **kept)
assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]


def report_of(flow: str) -> dict[str, object]:
    """What the report of a flow's query says."""
    (offsets,) = (pipeline / "storage").glob(f"_checkpoints/**/{flow}/**/offsets")
    id = json.loads((offsets.parent / "metadata").read_text())["id"]
    report = tidemark.report(id, spark=spark).to_dict()
    return {
        "engine": report["engine"],
        "keys": [origin["key"] for origin in report["inputs"]],
        "idle after": [origin.get("idle_after_ms") for origin in report["inputs"]],
        "late rows": [late.rows for late in tidemark.late_rows(id, spark=spark)],
    }


result(
    rows=sorted([str(value) for value in row] for row in spark.table(table).collect()),
    reports=[report_of(flow) for flow in flows.split(",")],
)
spark.stop()
