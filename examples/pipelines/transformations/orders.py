"""The first table: orders of all shops, as they come."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

ORDER = "at TIMESTAMP, shop STRING, amount DOUBLE"


@dp.table
def orders() -> DataFrame:
    folder = os.environ.get("ORDERS", "/tmp/tidemark-pipeline/orders")
    return SparkSession.active().readStream.schema(ORDER).json(folder)
