"""`check`: the findings of `doctor`, and one streaming query that has to run with Tidemark."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tidemark._queries.report import report
from tidemark._session.doctor import Diagnosis, Finding, doctor
from tidemark._watermark.with_watermark import with_watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(spark: SparkSession) -> Diagnosis:
    """Checks a session as `doctor` does, and runs a streaming query of one row in it.

    Args:
        spark: A classic session. The query reads and writes in a temporary folder of this machine.
    """
    found = doctor(spark)
    if not found.ok:
        return found
    with tempfile.TemporaryDirectory(prefix="tidemark-check-") as folder:
        try:
            finding = _takeover(spark, Path(folder))
        except Exception as error:  # noqa: BLE001
            # Whatever Spark says belongs to the answer.
            first = next(iter(str(error).splitlines()), "no text")
            text = f"the query failed: {type(error).__name__}: {first}"
            finding = Finding("takeover", False, text, "CHECK_FAILED", "solving that error")
    return Diagnosis((*found.findings, finding))


def _takeover(spark: SparkSession, folder: Path) -> Finding:
    (folder / "in").mkdir()
    (folder / "in" / "one.json").write_text('{"at": "2024-01-01T00:00:00Z"}\n', encoding="utf-8")
    rows = spark.readStream.schema("at TIMESTAMP").json(str(folder / "in"))
    counts = with_watermark(rows, "at", "1 minute").groupBy("at").count()
    writing = counts.writeStream.format("noop").option("checkpointLocation", str(folder / "log"))
    query = writing.start()
    try:
        query.processAllAvailable()
        data = report(query).to_dict()
    finally:
        query.stop()
    if data["engine"] == "tidemark":
        return Finding("takeover", True, "a streaming query ran with Tidemark's watermarks")
    reason = f"a streaming query was left to Spark: {data.get('reason')}"
    fix = "removing that setting, or by asking in an issue"
    return Finding("takeover", False, reason, "LEFT_TO_SPARK", fix)
