"""What goes wrong with marks in a topic, against a real broker: each part has a topic and queries of its own.

topic_trouble.py FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from support.kafka_session import kafka_session
from support.processes import PATIENCE_SECONDS, result

import tidemark
from common.ending import clean_end
from kafka_broker.broker import broker
from kafka_broker.topic import make_topic

HOUR = 3_600_000
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()) * 1000
Part = Callable[[], object]


class Trouble:
    def __init__(self, spark: SparkSession, folder: Path, servers: str) -> None:
        self.spark, self.folder, self.servers = spark, folder, servers
        self.options = {"kafka.bootstrap.servers": servers}

    # A file for each hour, and writers that list files.

    def feed(self, name: str, hour: int) -> str:
        rows = (json.dumps({"time": START // 1000 + hour * 3600 + m * 60}) for m in range(60))
        (self.folder / name).mkdir(exist_ok=True)
        draft = self.folder / f".{name}-{hour}"
        draft.write_text("\n".join(rows))
        draft.rename(self.folder / name / f"{hour}.json")
        return f"{hour}.json"

    def marks(self, location: str) -> tidemark.marks.Marks:
        return tidemark.marks.Marks(location, options={"bootstrap.servers": self.servers})

    def rows(self, name: str) -> DataFrame:
        (self.folder / name).mkdir(exist_ok=True)
        return self.spark.readStream.schema("time TIMESTAMP").json(str(self.folder / name))

    def by_marks(self, name: str, location: str) -> StreamingQuery:
        log = tidemark.Noted(location, options=self.options)
        marked = tidemark.with_watermark(self.rows(name), "time", noted=log)
        hours = marked.groupBy(F.window("time", "1 hour")).count()
        found = hours.select(F.hour("window.start").alias("hour"), "count")
        return self.start(found, f"{name}-by-marks", "memory")

    def noting(self, name: str, location: str, more: str = "", **options: str) -> StreamingQuery:
        marked = self.rows(name).withWatermark("time", "0 seconds")
        given = {"to_options": self.options, **options}
        noted = tidemark.note_time(marked, "time", to=location, writer="query", **given)
        return self.start(noted, f"{name}-noting{more}", "parquet")

    def start(self, df: DataFrame, name: str, sink: str) -> StreamingQuery:
        writer = df.writeStream.format(sink).queryName(name.replace("-", "_"))
        writer = writer.option("path", str(self.folder / "out" / name))
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoints" / name))
        return writer.trigger(processingTime="200 milliseconds").start()

    def hours(self, query: StreamingQuery) -> list[list[int]]:
        return sorted(map(list, self.spark.table(query.name or "").collect()))

    def until(self, done: Callable[[], object], *queries: StreamingQuery) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not done():
            for query in queries:
                if not query.isActive:
                    raise SystemExit(f"{query.name}: {query.exception()}")
            if time.monotonic() > give_up:
                raise SystemExit(f"never: {[query.name for query in queries]}")
            time.sleep(0.1)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})

    def remove(self, topic: str) -> None:
        admin = self.admin()
        for future in admin.delete_topics([topic]).values():
            future.result(timeout=60)
        self.until(lambda: topic not in admin.list_topics(timeout=10).topics)

    # The parts.

    def a_topic_that_comes_later(self) -> object:
        query = self.by_marks("later", "kafka:later/orders")
        file = self.feed("later", 0)
        self.until(lambda: read(query) == 60, query)
        early = self.hours(query)
        make_topic(self.servers, "later", 1)
        with self.marks("kafka:later/orders").writer("w") as writer:
            writer.note_time(START + HOUR, files=[file])
        self.until(lambda: self.hours(query), query)
        query.stop()
        return early, self.hours(query)

    def two_streams_in_one_topic(self) -> object:
        make_topic(self.servers, "shared", 2)
        queries = [self.by_marks(name, f"kafka:shared/{name}") for name in ("east", "west")]
        east, west = (self.marks(f"kafka:shared/{name}") for name in ("east", "west"))
        with east.writer("w") as first, west.writer("w") as other:
            first.note_time(START + HOUR, files=[self.feed("east", 0)])
            other.note_time(START, files=[self.feed("west", 0)])
            self.until(lambda: self.hours(queries[0]), *queries)
            self.until(lambda: read(queries[1]) == 60, *queries)
            found = [self.hours(query) for query in queries]
            other.note_time(START + HOUR, files=[])
            self.until(lambda: self.hours(queries[1]), *queries)
        for query in queries:
            query.stop()
        return found, self.hours(queries[1])

    def records_that_cannot_be_used(self) -> object:
        make_topic(self.servers, "odd", 1)
        producer = Producer({"bootstrap.servers": self.servers})
        marks = self.marks("kafka:odd/orders")
        query = self.by_marks("odd", "kafka:odd/orders")
        with marks.writer("w") as writer:
            for value in (b'{"v":2,"w":"w","e":1,"n":0}', b"torn", b""):
                producer.produce("odd", value, b"orders\0w")
            producer.produce("odd", b"a row", b"no stream")
            producer.flush()
            writer.note_time(START + HOUR, files=[self.feed("odd", 0)])
            self.until(lambda: self.hours(query), query)
        skipped = tidemark.report(query).to_dict()["inputs"][0]["noted"]["skipped_lines"]
        table = tidemark.mark_table(marks, spark=self.spark)
        query.stop()
        reasons = [row.skipped.split(": ")[1] for row in table.where("kind = 'skipped'").collect()]
        return skipped, sorted(reasons), table.where("kind = 'note'").count()

    def a_topic_that_is_made_anew(self) -> object:
        make_topic(self.servers, "again", 1)
        first = self.noting("again", "kafka:again/orders")
        self.feed("again", 0)
        self.until(lambda: self.noted("kafka:again/orders") == 59, first)
        self.remove("again")
        self.feed("again", 1)
        self.until(lambda: failures(first) > 0, first)
        make_topic(self.servers, "again", 1)
        self.feed("again", 2)
        self.until(lambda: self.noted("kafka:again/orders") == 179, first)
        first.stop()
        # The next run begins a life where no other one is known.
        second = self.noting("again", "kafka:again/orders")
        self.feed("again", 3)
        self.until(lambda: self.noted("kafka:again/orders") == 239, second)
        second.stop()
        return len({mark.epoch for mark in self.marks("kafka:again/orders").read().marks})

    def noted(self, location: str) -> int | None:
        try:
            found = self.marks(location).watermark()
        except tidemark.TidemarkError:
            return None
        return None if found is None else (found.lower_millis - START) // 60_000

    def two_queries_of_one_name(self) -> object:
        make_topic(self.servers, "twice", 2)
        patient = self.noting("twice", "kafka:twice/orders")
        self.feed("twice", 0)
        self.until(lambda: self.noted("kafka:twice/orders") == 59, patient)
        second = self.noting("twice", "kafka:twice/orders", "-second")
        self.until(lambda: noted_by(second) is not None, patient, second)
        self.feed("twice", 1)
        self.until(lambda: noted_by(second) == START + 119 * 60_000, patient, second)
        self.until(lambda: failures(patient) > 0, patient, second)
        third = self.noting("twice", "kafka:twice/orders", "-third", on_failure="fail")
        self.until(lambda: noted_by(third) is not None, patient, third)
        fourth = self.noting("twice", "kafka:twice/orders", "-fourth")
        self.until(lambda: noted_by(fourth) is not None, patient, fourth)
        self.feed("twice", 2)
        self.until(lambda: not third.isActive)
        self.until(lambda: self.noted("kafka:twice/orders") == 179, patient, fourth)
        for query in (patient, second, fourth):
            query.stop()
        is_unchanged = noted_by(patient) == START + 59 * 60_000
        return tidemark.errors.error_code(third.exception()), is_unchanged

    def a_compacted_topic(self) -> object:
        admin = self.admin()
        compacted = NewTopic("compacted", 1, 1, config={"cleanup.policy": "compact"})
        for future in admin.create_topics([compacted]).values():
            future.result(timeout=60)
        query = self.noting("compacted", "kafka:compacted/orders")
        self.feed("compacted", 0)
        self.until(lambda: self.noted("kafka:compacted/orders") == 59, query)
        query.stop()
        try:
            self.marks("kafka:compacted/orders").writer("w")
        except tidemark.TidemarkError as error:
            return error.code
        return None

    def what_is_refused(self) -> object:
        make_topic(self.servers, "refused", 1)
        self.feed("refused", 0)
        codes = []
        for attempt in (
            lambda: tidemark.mark_table("kafka:nowhere/x", options=self.options, spark=self.spark),
            lambda: tidemark.mark_table("kafka:refused/x", spark=self.spark),
            lambda: ended(self.noting("refused", "kafka:refused/")),
            lambda: ended(self.noting("refused", "kafka:refused/x", position="kafka:refused", options=self.options)),
            lambda: ended(self.noting("refused", "kafka:refused/x", to_options={})),
            lambda: ended(self.two_columns()),
        ):  # fmt: skip
            try:
                attempt()
                codes.append(None)
            except Exception as error:  # noqa: BLE001 - the code is what is compared
                codes.append(tidemark.errors.error_code(error) or str(error))
        return codes

    def two_columns(self) -> StreamingQuery:
        rows = self.rows("refused").withWatermark("time", "0 seconds")
        counts = rows.groupBy(F.window("time", "1 hour")).count()
        for _ in range(2):
            counts = tidemark.note_time(
                counts.withColumn("again", F.col("window")), "window",
                to="kafka:refused/x", to_options=self.options, writer="query",
            )  # fmt: skip
        return self.start(counts, "refused-two", "parquet")


def ended(query: StreamingQuery) -> None:
    """Raises what the query ends with."""
    query.processAllAvailable()
    query.stop()


def read(query: StreamingQuery) -> int:
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def failures(query: StreamingQuery) -> int:
    return int(tidemark.report(query).to_dict()["outputs"][0]["failures"])


def noted_by(query: StreamingQuery) -> int | None:
    outputs = tidemark.report(query).to_dict().get("outputs") or [{}]
    noted = outputs[0].get("noted_ms")
    return None if noted is None else int(noted)


def main(servers: str) -> None:
    spark = kafka_session()
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    trouble = Trouble(spark, Path(sys.argv[1]), servers)
    parts: list[Part] = [
        trouble.a_topic_that_comes_later,
        trouble.two_streams_in_one_topic,
        trouble.records_that_cannot_be_used,
        trouble.a_topic_that_is_made_anew,
        trouble.two_queries_of_one_name,
        trouble.a_compacted_topic,
        trouble.what_is_refused,
    ]
    wanted = sys.argv[2:]
    result(**{part.__name__: part() for part in parts if not wanted or part.__name__ in wanted})  # type: ignore[attr-defined]
    spark.stop()


with clean_end(), broker(Path(sys.argv[1]) / "kafka") as running:
    main(running)
