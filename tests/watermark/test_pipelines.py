"""Declarative Pipelines: the guide's pipeline of four tables, run by `spark-pipelines`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest
from pyspark.sql import SparkSession
from support.feeds import clock
from support.pages import ROOT, blocks
from support.processes import run_program, run_script

import tidemark

EXAMPLE = ROOT / "examples" / "pipelines"
GUIDE = ROOT / "docs" / "guides" / "pipelines.md"

needs_pipelines = pytest.mark.skipif(
    pyspark.__version__.startswith("4.0."), reason="Spark 4.0 has no Declarative Pipelines"
)


class Pipeline(NamedTuple):
    """A copy of the example, and what it reads and writes."""

    folder: Path
    inputs: Path

    def arrive(self, feed: str, file: str, **clocks: str) -> None:
        """Adds a file of orders, or of returns of one feed: `a="10:05 12:20"` by shop."""
        rows = [
            {"shop": shop, "at": clock(time).isoformat(), "amount": 2.0}
            for shop, text in clocks.items()
            for time in text.split()
        ]
        folder = self.inputs / feed
        folder.mkdir(exist_ok=True, parents=True)
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / file).write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """Where the pipeline finds its inputs. With SPARK_TESTING the Connect server takes a free port."""
        folders = {"ORDERS": "orders", "RETURNS": "returns"}
        found = {name: str(self.inputs / folder) for name, folder in folders.items()}
        return {**found, "SPARK_TESTING": "1"}

    def run(self) -> None:
        """Runs it as the guide does, and waits for its end."""
        settings = {
            "spark.jars": tidemark.jars.jar_path(),
            "spark.sql.extensions": tidemark.jars.EXTENSION,
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.ui.enabled": "false",
        }
        lines = "".join(f"{key} {value}\n" for key, value in settings.items())
        conf = self.folder / "conf"
        conf.mkdir(exist_ok=True)
        (conf / "spark-defaults.conf").write_text(lines, encoding="utf-8")
        command = str(Path(pyspark.__file__).parent / "bin" / "spark-pipelines")
        done = run_program(
            [command, "run"], self.folder, SPARK_CONF_DIR=str(conf), **self.environment
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]

    def hourly(self, spark: SparkSession) -> list[tuple[object, ...]]:
        """The rows of the second table."""
        rows = spark.read.parquet(str(self.folder / "warehouse" / "hourly"))
        return sorted(tuple(row) for row in rows.select("hour", "orders", "amount").collect())

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the second table's flow."""
        (offsets,) = (self.folder / "storage").glob("_checkpoints/**/hourly/**/offsets")
        return offsets.parent


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    folder = tmp_path / "pipeline"
    shutil.copytree(EXAMPLE, folder)
    spec = folder / "spark-pipeline.yml"
    storage = "storage: file:///tmp/tidemark-pipeline/storage"
    text = spec.read_text(encoding="utf-8")
    assert storage in text
    spec.write_text(text.replace(storage, f"storage: {(folder / 'storage').as_uri()}"))
    made = Pipeline(folder, tmp_path)
    made.arrive("returns/post", "1.json", a="10:05 12:20")
    made.arrive("returns/shops", "1.json", a="09:10")
    return made


@pytest.mark.example
@needs_pipelines
def test_a_pipeline_waits_for_its_slowest_shop_and_its_flow_has_a_log(
    spark: SparkSession, pipeline: Pipeline
) -> None:
    pipeline.arrive("orders", "1.json", a="10:05 12:20", b="09:40")
    pipeline.run()
    assert pipeline.hourly(spark) == []

    # By one clock this row would be late, and the hour from 10:00 would be out already.
    pipeline.arrive("orders", "2.json", b="09:50 12:30")
    pipeline.run()
    assert pipeline.hourly(spark) == [(clock("09:00"), 2, 4.0), (clock("10:00"), 1, 2.0)]

    log = tidemark.watermark_log(str(pipeline.checkpoint), spark=spark)
    rows = log.orderBy("batch", "split").select("key", "split", "clock", "watermark").collect()
    assert [tuple(row) for row in rows][-2:] == [
        ("orders", "a", clock("12:10"), clock("12:10")),
        ("orders", "b", clock("12:20"), clock("12:10")),
    ]


@pytest.mark.example
@needs_pipelines
def test_flows_in_python_have_keyed_watermarks_and_a_report_on_a_server(pipeline: Pipeline) -> None:
    pipeline.arrive("orders", "1.json", a="10:05")
    found = run_script(
        "pipelines.py",
        str(pipeline.folder),
        "returns_by_post",
        "returns_by_post,returns_in_shops",
        "{}",
        **pipeline.environment,
    )
    report = {"engine": "tidemark", "idle after": [86_400_000], "late rows": [0]}
    assert found == {
        "rows": [["2024-01-01 10:00:00", "1"]],
        "reports": [{**report, "keys": ["post"]}, {**report, "keys": ["shops"]}],
    }


@pytest.mark.parametrize(
    "file",
    ["spark-pipeline.yml", "transformations/hourly.sql", "transformations/returns.py"],
)
def test_the_guide_shows_the_files_of_the_example(file: str) -> None:
    text = (EXAMPLE / file).read_text(encoding="utf-8")
    assert text in [block.text for block in blocks(GUIDE, "yaml", "python", "sql")]
