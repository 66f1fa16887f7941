"""Orders and payments from Kafka, revenue by the hour into a table.

    spark-submit --jars "$(python -c 'import tidemark; print(tidemark.jars.jar_path())')" \
      --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0 \
      examples/kafka_to_table.py --servers broker:9092 --table revenue --checkpoint /checkpoints/revenue

The page docs/guides/kafka-job.md explains this file and shows it in full.
"""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import tidemark

ORDER = "order_id STRING, order_time TIMESTAMP, amount DECIMAL(12, 2)"
PAYMENT = "order_id STRING, payment_time TIMESTAMP"


def session() -> SparkSession:
    """A session with Tidemark; master, resources and the jar come from spark-submit."""
    builder = SparkSession.builder.appName("revenue").config("spark.sql.session.timeZone", "UTC")
    return tidemark.configure(builder).getOrCreate()


def read(spark: SparkSession, servers: str, topic: str) -> DataFrame:
    """The records of a topic from its beginning, at most 100,000 per batch."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "100000")
        .load()
    )


def parsed(records: DataFrame, schema: str) -> DataFrame:
    """The fields of the JSON value, with topic and partition, which tell the splits apart."""
    value = F.from_json(F.col("value").cast("string"), schema).alias("value")
    return records.select("topic", "partition", value).select("topic", "partition", "value.*")


def by_partition(rows: DataFrame, time: str, key: str) -> DataFrame:
    """The rows with a watermark: the slowest partition counts, and silent ones are left out."""
    marked = tidemark.with_watermark(
        rows, time, "10 minutes", key=key, split_by=["topic", "partition"], idle_after="5 minutes"
    )
    return marked.drop("topic", "partition")


def revenue(orders: DataFrame, payments: DataFrame) -> DataFrame:
    """Orders and their sum by the hour. An order is paid if a payment comes within an hour."""
    orders = by_partition(orders, "order_time", "orders")
    payments = by_partition(payments, "payment_time", "payments")
    payments = payments.withColumnRenamed("order_id", "paid_id")
    in_time = F.expr(
        "order_id = paid_id AND payment_time BETWEEN order_time AND order_time + INTERVAL 1 HOUR"
    )
    joined = orders.join(payments, in_time, "left_outer")
    hours = joined.groupBy(
        F.window("order_time", "1 hour").alias("hour"),
        F.col("paid_id").isNotNull().alias("paid"),
    )
    sums = hours.agg(F.count("*").alias("orders"), F.sum("amount").alias("revenue"))
    return sums.select(F.col("hour.start").alias("hour"), "paid", "orders", "revenue")


def write(result: DataFrame, table: str, checkpoint: str, kind: str, once: bool) -> StreamingQuery:
    """Starts the query: each finished hour is appended to the table, exactly once."""
    writer = (
        result.writeStream.queryName("revenue")
        .outputMode("append")
        .option("checkpointLocation", checkpoint)
    )
    if once:
        return writer.trigger(availableNow=True).toTable(table, format=kind)
    return writer.trigger(processingTime="1 minute").toTable(table, format=kind)


def main() -> None:
    parser = argparse.ArgumentParser(description="Revenue by the hour, from Kafka into a table.")
    parser.add_argument("--servers", required=True, help="Kafka's bootstrap servers")
    parser.add_argument("--table", required=True)
    parser.add_argument("--checkpoint", required=True, help="a folder that all executors reach")
    parser.add_argument("--format", default="parquet", help="parquet, delta or iceberg")
    parser.add_argument("--once", action="store_true", help="process what has arrived, then stop")
    arguments = parser.parse_args()

    spark = session()
    orders = parsed(read(spark, arguments.servers, "orders"), ORDER)
    payments = parsed(read(spark, arguments.servers, "payments"), PAYMENT)
    result = revenue(orders, payments)
    query = write(result, arguments.table, arguments.checkpoint, arguments.format, arguments.once)
    while not query.awaitTermination(600):
        print(tidemark.report(query), flush=True)


if __name__ == "__main__":
    main()
