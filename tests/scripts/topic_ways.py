"""Two queries with marks in a topic, written in SQL, in Scala or in Python on Spark Connect, against a real broker.

    topic_ways.py FOLDER sql|scala|connect

The first query counts by quarter of an hour and notes its time. The second one counts by hour.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.kafka_session import kafka_session
from support.processes import result

import tidemark
from common.ending import clean_end
from kafka_broker.broker import broker
from kafka_broker.topic import make_topic

LOG = "kafka:tidemark-marks/quarters"
MINUTE = 60_000
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()) * 1000
folder, way = Path(sys.argv[1]), sys.argv[2]


class Sql:
    def __init__(self, spark: SparkSession, options: dict[str, str]) -> None:
        self.spark, self.options = spark, options

    def noted(self, readings: DataFrame) -> DataFrame:
        readings.createOrReplaceTempView("readings")
        given = json.dumps({"to": LOG, "toOptions": self.options, "writer": way})
        return self.spark.sql(
            f"""SELECT tidemark_note_time(window, '{given}') AS window, count(*) AS count
                FROM readings GROUP BY window(time, '15 minutes')"""
        )

    def marked(self, quarters: DataFrame) -> DataFrame:
        quarters.createOrReplaceTempView("quarters")
        given = json.dumps({"noted": LOG, "notedOptions": self.options})
        rows = self.spark.sql(
            f"SELECT tidemark_event_time(time, '{given}') AS time, count FROM quarters"
        )
        return rows.withWatermark("time", "0 seconds")

    def table(self) -> DataFrame:
        given = ", ".join(f"'{text}'" for pair in self.options.items() for text in pair)
        return self.spark.sql(f"SELECT * FROM tidemark_marks('{LOG}', map({given}))")


class Scala(Sql):
    """The Scala API, called from here."""

    def noted(self, readings: DataFrame) -> DataFrame:
        counts = readings.groupBy(F.window("time", "15 minutes")).count()
        options = self._jvm.io.tidemark.NoteTimeOptions(
            self._some(LOG), self._some(way), self._none, self._none, self._map({}), False,
            self._map(self.options),
        )  # fmt: skip
        return self._df(self._jvm.io.tidemark.functions.noteTime(counts._jdf, "window", options))

    def marked(self, quarters: DataFrame) -> DataFrame:
        nothing = self._python.toSeq(self._jvm.java.util.ArrayList())
        noted = self._jvm.io.tidemark.Noted(
            self._some(LOG), nothing, False, self._map(self.options)
        )
        options = self._jvm.io.tidemark.WatermarkOptions(
            self._none,
            self._jvm.io.tidemark.SplitBy(nothing, nothing, self._none),
            self._jvm.io.tidemark.Idle(self._none, self._none, self._none, self._none),
            self._none,
            self._jvm.scala.Option.apply(noted),
        )
        marked = self._jvm.io.tidemark.functions.withWatermark(
            quarters._jdf, "time", "0 seconds", options
        )
        return self._df(marked)

    def _df(self, made: Any) -> DataFrame:
        return DataFrame(made, self.spark)

    @property
    def _jvm(self) -> Any:
        return self.spark._jvm

    @property
    def _python(self) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils

    @property
    def _none(self) -> Any:
        return self._jvm.scala.Option.empty()

    def _some(self, text: str) -> Any:
        return self._jvm.scala.Option.apply(text)

    def _map(self, texts: dict[str, str]) -> Any:
        made = self._jvm.java.util.HashMap()
        for name, text in texts.items():
            made.put(name, text)
        return self._python.toScalaMap(made)


class Connect(Sql):
    """The Python functions, which are the same on a Connect session."""

    def noted(self, readings: DataFrame) -> DataFrame:
        counts = readings.groupBy(F.window("time", "15 minutes")).count()
        return tidemark.note_time(counts, "window", to=self._log, writer=way)

    def marked(self, quarters: DataFrame) -> DataFrame:
        return tidemark.with_watermark(quarters, "time", noted=self._log)

    def table(self) -> DataFrame:
        return tidemark.mark_table(self._log, spark=self.spark)

    @property
    def _log(self) -> tidemark.marks.Marks:
        # Spark takes its brokers.
        return marks_at(self.options["kafka.bootstrap.servers"])


WAYS = {"sql": Sql, "scala": Scala, "connect": Connect}


def marks_at(servers: str) -> tidemark.marks.Marks:
    return tidemark.marks.Marks(LOG, options={"bootstrap.servers": servers})


def run(df: DataFrame, name: str) -> None:
    writer = df.writeStream.format("parquet").option(
        "checkpointLocation", str(folder / f"{name}.cp")
    )
    writer.trigger(availableNow=True).start(str(folder / name)).awaitTermination()


def main(servers: str) -> None:
    make_topic(servers, "tidemark-marks", 2)
    (folder / "in").mkdir()
    for hour in range(4):
        times = ((START + (hour * 60 + minute) * MINUTE) // 1000 for minute in range(60))
        rows = "\n".join(json.dumps({"time": time}) for time in times)
        (folder / "in" / f"{hour}.json").write_text(rows)
    spark = kafka_session("local[2]" if way == "connect" else None)
    ways = WAYS[way](spark, {"kafka.bootstrap.servers": servers})
    readings = spark.readStream.schema("time TIMESTAMP").json(str(folder / "in"))
    noted = ways.noted(readings.withWatermark("time", "0 seconds"))
    run(noted.select(F.col("window.end").alias("end"), "count"), "quarters")
    quarters = spark.readStream.schema("end TIMESTAMP, count LONG").parquet(
        str(folder / "quarters")
    )
    timed = quarters.select(F.expr("end - INTERVAL 0.001 SECOND").alias("time"), "count")
    hours = (
        ways.marked(timed).groupBy(F.window("time", "1 hour")).agg(F.sum("count").alias("count"))
    )
    run(hours.select(F.hour("window.start").alias("hour"), "count"), "hours")
    stated = marks_at(servers).watermark()
    table = ways.table().selectExpr("writer", "kind", "time_millis", "position_kind").collect()
    result(
        session=type(spark).__module__,
        noted=stated and stated.lower_millis - START,
        hours=sorted(map(list, spark.read.parquet(str(folder / "hours")).collect())),
        writers=sorted({row.writer for row in table}),
        kinds=sorted({row.kind for row in table}),
        largest=max(row.time_millis or 0 for row in table) - START,
        positions=sorted({row.position_kind for row in table if row.position_kind}),
    )
    spark.stop()


with clean_end(), broker(folder / "kafka") as running:
    main(running)
