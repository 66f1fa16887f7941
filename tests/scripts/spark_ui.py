"""What the web UI of a driver shows of two queries, and what is in the event log afterwards."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import result

import tidemark

folder = Path(sys.argv[1])
(folder / "events").mkdir()
builder = (
    SparkSession.builder.master("local[2]")
    .appName("seen")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.port", "0")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.dir", (folder / "events").as_uri())
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = tidemark.configure(builder).getOrCreate()


def counted(key: str, *rows: str) -> DataFrame:
    feed = Feed(spark, folder / key, "time TIMESTAMP, place STRING")
    for row in rows:
        time, place = row.split()
        feed.add({"time": time, "place": place})
    marked = tidemark.with_watermark(
        feed.stream(), "time", "10 minutes", key=key, split_by="place", max_ahead="1 day"
    )
    return marked.groupBy(F.window("time", "1 hour")).count()


def fetch(path: str) -> tuple[int, str, dict[str, str]]:
    request = Request(f"{spark.sparkContext.uiWebUrl}/event-time/{path}")
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers)


def started(name: str, df: DataFrame) -> str:
    query = df.writeStream.format("noop").queryName(name).start()
    query.processAllAvailable()
    return str(query.runId)


before = fetch("")[1]
held = started("held", counted("payments", "12:20 pl-7", "09:40 de-1"))
flowing = started("flowing", counted("orders", "10:05 a", "12:20 a"))
code, page, headers = fetch("")
query = fetch(f"query/?id={held}")[1]
json = fetch(f"query/json?id={held}")[1]
for running in spark.streams.active:
    running.stop()
application = spark.sparkContext.applicationId
spark.stop()
result(
    before=before,
    code=code,
    page=page,
    headers=headers,
    query=query,
    json=json,
    held=held,
    flowing=flowing,
    application=application,
)
