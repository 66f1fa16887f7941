"""Writes the dashboards to Parquet until it is killed. Arguments: folder, checkpoint, output."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from support.dashboards import dashboards

import tidemark

folder, checkpoint, output = sys.argv[1:4]
builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    # For speed: compiling the code of these small queries takes longer than running them.
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
)
spark = tidemark.configure(builder).getOrCreate()
query = (
    dashboards(spark, folder, files_per_batch=1)
    .writeStream.format("parquet")
    .option("checkpointLocation", checkpoint)
    .start(output)
)
query.awaitTermination()
