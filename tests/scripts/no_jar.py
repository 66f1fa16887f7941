"""One JVM that starts without the jar, and the sessions that users may start in it."""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from support.processes import result

import tidemark

fixes: dict[str, str] = {}
found: dict[str, object] = {"fixes": fixes}


def builder() -> SparkSession.Builder:
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")


def look(name: str, spark: SparkSession) -> None:
    """Records the results of with_watermark and the doctor in a session."""
    stream: DataFrame = spark.readStream.format("rate").load()
    problems = tidemark.doctor(spark).problems
    try:
        tidemark.with_watermark(stream, "timestamp", "1 minute")
        code = None
    except tidemark.TidemarkError as error:
        code, fixes[name] = error.code, error.fix
    found[name] = {"refused": code, "problems": [[p.check, p.code] for p in problems]}


def code_of_configure() -> str | None:
    try:
        tidemark.configure(builder())
    except tidemark.TidemarkError as error:
        return error.code
    return None


spark = builder().getOrCreate()
look("plain", spark)
found["configure with a session"] = code_of_configure()
spark.stop()
found["configure after stop"] = code_of_configure()

named = builder().config("spark.sql.extensions", tidemark.jars.EXTENSION)
spark = named.getOrCreate()
look("extension only", spark)
spark.stop()

absent = tidemark.jars.jar_path().replace("/_jars/", "/gone/")
spark = named.config("spark.jars", absent).getOrCreate()
look("absent jar", spark)
spark.stop()

spark = named.config("spark.jars", tidemark.jars.jar_path()).getOrCreate()
look("jar too late", spark)
spark.stop()

# The doctor runs again after the session has stopped.
found["doctor after stop"] = [p.code for p in tidemark.doctor(spark).problems]
result(**found)
sys.exit(0)
