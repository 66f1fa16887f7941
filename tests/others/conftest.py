"""A session with Delta's and Iceberg's extensions beside Tidemark's, before them and after them.

Only `make test-others` runs these tests, because they need the jars of both and a Spark that both support.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tidemark
from common.session import file_manager

JARS = sorted(Path(os.environ.get("TIDEMARK_OTHER_JARS", "")).glob("*.jar"))
collect_ignore_glob = [] if JARS else ["test_*.py"]

OTHERS = "io.delta.sql.DeltaSparkSessionExtension," + (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
)
ORDERS = {
    "tidemark first": f"{tidemark.jars.EXTENSION},{OTHERS}",
    "tidemark last": f"{OTHERS},{tidemark.jars.EXTENSION}",
}


@pytest.fixture(scope="session", params=ORDERS)
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("others")
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join([*map(str, JARS), str(tidemark.jars.jar_path())]))
        .config("spark.sql.extensions", ORDERS[request.param])
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", str(folder / "iceberg"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.databricks.delta.stats.collect", "false")
        .config("spark.sql.session.timeZone", "UTC")
        # For speed: compiling the code of every small plan takes longer than running it.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.streaming.checkpointFileManagerClass", file_manager())
        .config("spark.sql.streaming.pollingDelay", "10ms")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    assert tidemark.doctor(session).ok
    yield session
    session.stop()
