"""What the tasks of a session have cost, by Spark's own count."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def cpu_nanos(spark: SparkSession) -> dict[int, int]:
    """CPU time of the tasks of each finished stage that Spark remembers, by the stage's number."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    complete = context._jvm.java.util.ArrayList()
    complete.add(getattr(context._jvm, "org.apache.spark.status.api.v1.StageStatus").COMPLETE)
    none = context._jvm.java.util.ArrayList()
    quantiles = context._gateway.new_array(context._gateway.jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(complete, False, False, quantiles, none)
    stages = [found.apply(at) for at in range(found.size())]
    return {stage.stageId(): stage.executorCpuTime() for stage in stages}


def cpu_millis(spark: SparkSession) -> float:
    """CPU time of the tasks of all finished stages that Spark remembers."""
    return sum(cpu_nanos(spark).values()) / 1e6
