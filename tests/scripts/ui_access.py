"""What the web UI of a driver answers to users with and without the right to see it."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import result
from support.ui_user import user_filter

import tidemark

folder = Path(sys.argv[1])
(folder / "events").mkdir()
name, classes = user_filter(folder / "classes")
builder = (
    SparkSession.builder.master("local[2]")
    .appName("guarded")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.extraClassPath", classes)
    .config("spark.ui.port", "0")
    .config("spark.ui.filters", name)
    .config("spark.acls.enable", "true")
    .config("spark.ui.view.acls", "alice")
    .config("spark.admin.acls", "root")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.dir", (folder / "events").as_uri())
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = tidemark.configure(builder).getOrCreate()
feed = Feed(spark, folder / "in", "time TIMESTAMP, place STRING")
feed.add({"time": "12:20", "place": "secret"})
marked = tidemark.with_watermark(feed.stream(), "time", "10 minutes", key="k", split_by="place")
query = marked.groupBy(F.window("time", "1 hour")).count().writeStream.format("noop").start()
query.processAllAvailable()
run = str(query.runId)
PAGES = [
    "jobs/",
    "StreamingQuery/",
    "event-time/",
    f"event-time/query/?id={run}",
    "event-time/json",
    "event-time/query/json",
    f"event-time/query/json?id={run}",
    "event-time",
    "event-time/json/",
    f"event-time/query/json/?id={run}",
    f"event-time/query?id={run}",
]


def fetch(path: str, user: str) -> tuple[int, bool]:
    """The status, and whether the answer has the name of a split."""
    end = f"{'&' if '?' in path else '?'}user={user}" if user else ""
    try:
        with urlopen(f"{spark.sparkContext.uiWebUrl}/{path}{end}", timeout=60) as answer:
            return answer.status, "secret" in answer.read().decode()
    except HTTPError as error:
        return error.code, "secret" in error.read().decode()


found = {
    user or "unknown": {path.replace(run, "ID"): fetch(path, user) for path in PAGES}
    for user in ("alice", "bob", "")
}
query.stop()
application = spark.sparkContext.applicationId
spark.stop()
result(found=found, application=application, run=run, filter=name, classes=classes)
