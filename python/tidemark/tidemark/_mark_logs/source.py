"""The source of a range, and the options of its reader."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemark._errors import invalid_option

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

# These make Spark's readers leave rows out in silence, and `failOnDataLoss` does where it is false.
IGNORE = ("ignoreMissingFiles", "ignoreCorruptFiles")


@dataclass(frozen=True)
class Source:
    """One source.

    Attributes:
        spark: The session.
        format: The source's format.
        path: The folder of files, or of a Delta table.
        options: The reader's options.
        schema: The schema of files.
    """

    spark: SparkSession
    format: str
    path: str | os.PathLike[str] | None
    options: Mapping[str, str | bool | int | float]
    schema: StructType | str | None

    def reader(self, reserved: frozenset[str]) -> DataFrameReader:
        """A reader with the user's options, of which those that decide what is read are refused."""
        for name, value in self.options.items():
            if name.lower() in reserved:
                raise invalid_option(
                    name,
                    value,
                    "left out: read_between sets it, or the argument path does",
                    "leaving it out",
                )
        for name in ("failOnDataLoss", *IGNORE):
            safe = "true" if name == "failOnDataLoss" else "false"
            given = lower(self.options).get(name.lower())
            if given is not None and str(given).lower() != safe:
                raise invalid_option(
                    name,
                    given,
                    f"{safe}, or left out, so that no row is missing in silence",
                    f"giving {safe}, or by leaving it out",
                )
        reader = self.spark.read.format(self.format)
        return reader.options(**self.options)

    def folder(self) -> str:
        if self.path is None or not os.fspath(self.path):
            raise invalid_option(
                "path", self.path, "the folder of the files, or of the Delta table"
            )
        return os.fspath(self.path)


def lower(options: Mapping[str, object]) -> dict[str, object]:
    return {name.lower(): value for name, value in options.items()}
