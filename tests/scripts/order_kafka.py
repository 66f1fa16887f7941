"""Rows in order at a Kafka sink, against a real broker.

    order_kafka.py FOLDER ROWS

Counts the rows behind a later one of their device, and runs the cookbook's recipe.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.inversions import INPUTS, count, kafka_sink
from support.kafka_session import kafka_session
from support.pages import GUIDES, section
from support.processes import result

import tidemark
from common.ending import clean_end
from kafka_broker.broker import broker
from kafka_broker.topic import make_topic

folder, rows = Path(sys.argv[1]), int(sys.argv[2])


def by_the_recipe(spark: SparkSession, servers: str) -> list[Any]:
    """What the topic has of each device, with times from another order."""
    make_topic(servers, "readings-in-order", 3)
    feed = Feed(spark, folder / "readings", "device STRING, at TIMESTAMP, value DOUBLE")
    names = {"tidemark": tidemark, "F": F, "readings": feed.stream()}
    (cookbook,) = [page for page in GUIDES if page.stem == "cookbook"]
    for block in section(cookbook, "Each key's rows in order to Kafka"):
        text = block.text.replace("broker:9092", servers).replace('"/checkpoints/', f'"{folder}/')
        exec(text, names)
    for minutes in ([5, 3], [1, 8], [4, 30], [59]):
        feed.add(*({"device": d, "at": f"10:{m:02}", "value": m} for m in minutes for d in "ab"))
        names["query"].processAllAvailable()
    names["query"].stop()
    written = spark.read.format("kafka").option("subscribe", "readings-in-order")
    found = written.option("kafka.bootstrap.servers", servers).load()
    value = F.get_json_object(F.col("value").cast("STRING"), "$.value").cast("DOUBLE")
    placed = found.select(F.col("key").cast("STRING"), "partition", "offset", value.alias("value"))
    return [
        [row["key"], row["value"]] for row in placed.orderBy("key", "partition", "offset").collect()
    ]


with clean_end(), broker(folder / "kafka") as servers:
    spark = kafka_session()
    place = kafka_sink(servers)
    stock = count(spark, INPUTS[3], place, rows, ordered=False)
    ordered = count(spark, INPUTS[3], place, rows, ordered=True)
    result(**{"stock": stock, "in order": ordered, "recipe": by_the_recipe(spark, servers)})
    spark.stop()
