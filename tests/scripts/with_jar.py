"""Starts a session as the arguments specify, and reports its settings."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from support.processes import result

import tidemark

how = sys.argv[1]
builder = SparkSession.builder.config("spark.ui.enabled", "false").config(
    "spark.master", "local[1]"
)
if how == "configure":
    tidemark.configure(builder)
elif how == "jar only":
    builder.config("spark.jars", sys.argv[2])
elif how == "other minor":
    builder.config("spark.jars", sys.argv[2])
    builder.config("spark.sql.extensions", tidemark.jars.EXTENSION)

try:
    spark = builder.getOrCreate()
except Exception as error:  # noqa: BLE001
    kind = f"{type(error).__module__}.{type(error).__name__}"
    result(code=tidemark.errors.error_code(error), kind=kind, text=str(error)[:2000])
    sys.exit(0)

if how == "jar only":
    try:
        tidemark.configure(SparkSession.builder)
        refused = None
    except tidemark.TidemarkError as error:
        refused = error.code
    try:
        rows = spark.readStream.format("rate").load()
        tidemark.with_watermark(rows, "timestamp", "1 minute")
        fix = None
    except tidemark.TidemarkError as error:
        fix = error.fix
    spark.stop()
    other_session = tidemark.configure(SparkSession.builder.master("local[1]")).getOrCreate()
    result(configure=refused, fix=fix, again=tidemark.doctor(other_session).ok)
    sys.exit(0)

jars, extensions = spark.conf.get("spark.jars"), spark.conf.get("spark.sql.extensions")
diagnosis = tidemark.doctor(spark)
version = spark.sql("SELECT tidemark_version()").head()
spark.stop()
# The JVM keeps running with its jar: a second session in it works like the first.
builder = SparkSession.builder.master("local[1]")
other_session = (builder if how == "as it is" else tidemark.configure(builder)).getOrCreate()
result(
    jars=jars,
    extensions=extensions,
    version=version[0] if version else None,
    problems=str(diagnosis) if diagnosis.problems else "",
    again=tidemark.doctor(other_session).ok,
)
