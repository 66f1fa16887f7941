"""Pictures of the web UI's tab, by a browser without a window, while two queries run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import result

import tidemark

folder, browser = Path(sys.argv[1]), sys.argv[2]
SCHEMA = "id LONG, time TIMESTAMP, device STRING"
builder = (
    SparkSession.builder.master("local[2]")
    .appName("orders")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.port", "0")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = tidemark.configure(builder).getOrCreate()
feeds = {name: Feed(spark, folder / name, SCHEMA) for name in ("orders", "payments")}


def watched(name: str) -> DataFrame:
    return tidemark.with_watermark(
        feeds[name].stream(), "time", "10 minutes", key=name, split_by="device", max_ahead="1 day"
    )


def counted(name: str) -> DataFrame:
    return watched(name).groupBy(F.window("time", "1 hour")).count()


def screenshot(address: str, picture: str, *options: str) -> tuple[str, str]:
    """The page as the browser has it after loading, and what it complains of."""
    common = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    waits = ["--virtual-time-budget=5000", "--window-size=1280,1180", *options]
    file = f"--screenshot={folder / picture}"
    subprocess.run([*common, *waits, file, address], check=True, capture_output=True, timeout=120)
    dump = [*common, *waits, "--enable-logging=stderr", "--dump-dom", address]
    done = subprocess.run(dump, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout, done.stderr


both = counted("orders").union(counted("payments"))
hourly = both.writeStream.format("noop").queryName("hourly").start()
flowing = counted("orders").writeStream.format("noop").queryName("orders only").start()
for batch in range(12):
    clock = f"{9 + batch // 4:02}:{batch % 4 * 15:02}"
    for name, feed in feeds.items():
        # One device of the payments falls silent.
        devices = ["de-1", "fr-2", *(["pl-7"] if name == "orders" or batch < 5 else [])]
        feed.add(*({"id": batch, "time": clock, "device": device} for device in devices))
    # A row that is late.
    if batch == 8:
        feeds["orders"].add({"id": 99, "time": "08:10", "device": "de-1"})
    for query in (hourly, flowing):
        query.processAllAvailable()
tab = f"{spark.sparkContext.uiWebUrl}/event-time/"
page = f"{tab}query/?id={hourly.runId}"
pages = {
    "list": screenshot(tab, "ui-queries.png", "--window-size=1280,420"),
    "light": screenshot(page, "ui-query.png"),
    "dark": screenshot(page, "ui-query-dark.png", "--force-dark-mode"),
}
for query in spark.streams.active:
    query.stop()
spark.stop()
result(pages=pages)
