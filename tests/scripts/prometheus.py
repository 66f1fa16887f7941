"""What Prometheus scrapes from the web UI of a driver: before, during and after two queries."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from urllib.request import urlopen

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, millis
from support.processes import result

import tidemark

SERVLET = "org.apache.spark.metrics.sink.PrometheusServlet"
SCHEMA = "time TIMESTAMP"
HOSTILE = 'a.b"} 1\n# HELP <script>alert(1)</script> \u202e\x00{x="' + "y" * 10_000

folder = Path(sys.argv[1])
builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.port", "0")
    .config("spark.ui.showConsoleProgress", "false")
    # As on the page about monitoring.
    .config("spark.metrics.conf.*.sink.prometheusServlet.class", SERVLET)
    .config("spark.metrics.conf.*.sink.prometheusServlet.path", "/metrics/prometheus")
    .config("spark.metrics.namespace", "orders")
    .config("spark.sql.streaming.metricsEnabled", "true")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = tidemark.configure(builder).getOrCreate()
feeds = {name: Feed(spark, folder / name, SCHEMA) for name in ("orders", "payments")}


def counted(key: str, feed: Feed) -> DataFrame:
    marked = tidemark.with_watermark(feed.stream(), "time", "10 minutes", key=key)
    return marked.groupBy(F.window("time", "1 hour")).count()


def scrape() -> str:
    with urlopen(f"{spark.sparkContext.uiWebUrl}/metrics/prometheus/", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


before = scrape()
feeds["orders"].add({"time": "10:05"}, {"time": "12:20"})
feeds["payments"].add({"time": "09:40"})
both = counted("orders", feeds["orders"]).union(counted("payments", feeds["payments"]))
hourly = both.writeStream.format("noop").queryName("hourly").start()
hourly.processAllAvailable()
earliest = time.time() - millis("09:30") / 1000
during = scrape()
latest = time.time() - millis("09:30") / 1000

feeds["orders"].add({"time": "08:00"})
hourly.processAllAvailable()
late = scrape()

second = counted(HOSTILE, feeds["orders"]).writeStream.format("noop").queryName(HOSTILE).start()
second.processAllAvailable()
hostile = scrape()

hourly.stop()
second.stop()
# Listeners are told of a query's end by another thread.
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
after = scrape()
result(
    before=before,
    during=during,
    earliest=earliest,
    latest=latest,
    late=late,
    hostile=hostile,
    after=after,
)
spark.stop()
