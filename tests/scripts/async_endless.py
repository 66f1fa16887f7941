"""Calls a service for all numbers of a folder until it is killed. Arguments: folder, checkpoint, output, port."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from support.counting_service import doubled_by

import tidemark

folder, checkpoint, output, port = sys.argv[1:5]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = tidemark.configure(builder).getOrCreate()
rows = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json(folder)
writer = doubled_by(int(port), rows).writeStream.option("checkpointLocation", checkpoint)
writer.start(output).awaitTermination()
