"""Tidemark causes no Python warnings, with any version of pandas.

PySpark 4.3 itself warns about pandas 3 when a session starts, with or without Tidemark. Tidemark adds no warning.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper

import tidemark


def test_importing_all_tidemark_modules_gives_no_warning() -> None:
    code = (
        "import importlib, pkgutil, tidemark\n"
        "for module in pkgutil.walk_packages(tidemark.__path__, 'tidemark.'):\n"
        "    importlib.import_module(module.name)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.classic
def test_a_query_with_a_report_and_late_rows_gives_no_warning(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    orders = feed("orders", "id LONG, t TIMESTAMP")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        df = tidemark.with_watermark(orders.stream(), "t", "10 minutes", split_by="id")
        punctual = df.filter(~tidemark.is_late("t"))
        query = run(punctual.groupBy(F.window("t", "1 hour")).count())
        orders.add({"id": 1, "t": "10:00"})
        query.step()
        assert str(tidemark.report(query.query))
        tidemark.late_rows(query.query)
        assert not tidemark.doctor(df.sparkSession).problems
