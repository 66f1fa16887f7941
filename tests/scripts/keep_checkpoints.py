"""Creates the checkpoints stored in `tests/checkpoints`, with the Spark of this environment.

    PYTHONPATH=tests .venv/matrix/4.0.5/bin/python tests/scripts/keep_checkpoints.py stock
    PYTHONPATH=tests .venv/matrix/4.2.1/bin/python tests/scripts/keep_checkpoints.py tidemark

`stock`: with stock Spark. `tidemark`: with Tidemark, in the format that it writes now. `again NAME`: continues
a stored checkpoint, so that two versions of Spark have run it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from support import kept
from support.streams import run_once

import tidemark

what, *names = sys.argv[1:]
builder = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = (builder if what == "stock" else tidemark.configure(builder)).getOrCreate()
version = ".".join(spark.version.split(".")[:2])
name = f"{names[0]}-then-{version}" if what == "again" else f"{what}-{version}"
steps = kept.AFTER[:1] if what == "again" else kept.BEFORE
with tempfile.TemporaryDirectory() as folder:
    checkpoints = Path(folder, "checkpoints")
    if what == "again":
        kept.unpack(names[0], checkpoints)
    for query, make in kept.QUERIES.items():
        if what == "stock" and query in kept.KEYED_ONLY:
            continue
        inputs = kept.Inputs(spark, Path(folder, "input", query))
        mark = kept.by_spark if what == "stock" else kept.by_tidemark
        for step in steps:
            inputs.add(step)
            inputs.make_old()
            run_once(make(inputs, mark), checkpoints / query)
    shutil.make_archive(str(kept.FOLDER / name), "xztar", checkpoints)
    print(kept.FOLDER / f"{name}.tar.xz")
spark.stop()
