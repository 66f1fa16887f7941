"""What a case is, and the list of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from corpus.inputs import Inputs

# The sources of the queries: a short name for each, and its description.
SOURCES = {
    "guide": "apache/spark, `docs/streaming`: the Structured Streaming programming guide",
    "examples": "apache/spark, `examples/src/main`: `sql/streaming` and `sql/arrow.py`, Python and Scala",
    "api": "apache/spark: PySpark's API reference",
    "internals": "japila-books/spark-structured-streaming-internals: the demos",
    "neil": "neilramaswamy/structured-streaming: guides of the operators",
    "playground": "bartosz25/spark-playground: what each Spark has brought, in small queries",
    "phylosoft": "AndrewKuzmin/spark-structured-streaming-examples: joins and states",
    "variant": "ours: one of the above in SQL, with a Python map, a struct or another sink, in order, or on other rows",
    "report": "public reports: the page names each",
}

Build = Callable[..., DataFrame]
Rows = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Case:
    build: Build
    source: str
    inputs: Inputs
    mode: str
    # Why stock Spark and Tidemark differ; empty if they do not.
    differs: str
    # If they differ: whether the rows are the same in the end, but in other batches.
    same_rows: bool
    # Part of the error that ends stock Spark's query, and Tidemark's too if they do not differ.
    refused: str
    # The first version of Spark that can run the query.
    since: str
    # The order of the rows in a batch counts as well.
    ordered: bool
    # Also in `make test`.
    quick: bool
    # Each step is a separate run with `Trigger.AvailableNow`.
    available_now: bool
    # What `foreachBatch` does with a batch.
    in_batch: Rows | None
    # Options of the source.
    options: Mapping[str, Any] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    # The public report that it is about, and in a few words what stock Spark does there.
    report: str = ""
    stock: str = ""
    # What runs on Tidemark in place of `build`: the same query with an option of Tidemark.
    with_option: Build | None = None
    # All rows that Tidemark emits, batch by batch; empty if the comparison with stock Spark is enough.
    emits: Sequence[tuple[Any, ...]] = ()
    # Each step is a separate run with `Trigger.Once`.
    once: bool = False
    # What runs from the third step on, on the same checkpoint.
    later: Build | None = None
    # Codes of what `explain` has to find in the query that runs on Tidemark.
    finds: Sequence[str] = ()
    # The code of the sentence in which the report says at the end why nothing comes out.
    why: str = ""
    # How many late rows the report of the last run counts; -1 if it does not matter.
    late: int = -1

    @property
    def here(self) -> Build:
        return self.with_option or self.build

    @property
    def name(self) -> str:
        return self.build.__name__

    @property
    def says(self) -> str:
        return (self.build.__doc__ or "").strip().splitlines()[0].rstrip(".")

    @property
    def kind(self) -> str:
        # The reports are a package: all of them are one kind.
        return self.build.__module__.split(".")[1]

    @property
    def subject(self) -> str:
        """The kind, and for a report what it is about: `reports.joins`."""
        return self.build.__module__.partition(".")[2]


CASES: list[Case] = []


def case(
    source: str,
    inputs: Inputs,
    *,
    mode: str = "append",
    differs: str = "",
    same_rows: bool = False,
    refused: str = "",
    since: str = "4.0",
    ordered: bool = False,
    quick: bool = False,
    available_now: bool = False,
    in_batch: Rows | None = None,
    options: Mapping[str, Any] | None = None,
    conf: Mapping[str, str] | None = None,
    report: str = "",
    stock: str = "",
    with_option: Build | None = None,
    emits: Sequence[tuple[Any, ...]] = (),
    once: bool = False,
    later: Build | None = None,
    finds: Sequence[str] = (),
    why: str = "",
    late: int = -1,
) -> Callable[[Build], Build]:
    """The function makes the query of one or more inputs; its docstring is the line in the page."""
    assert source in SOURCES

    def add(build: Build) -> Build:
        assert build.__name__ not in {existing.name for existing in CASES}
        added = Case(
            build=build,
            source=source,
            inputs=inputs,
            mode=mode,
            differs=differs,
            same_rows=same_rows,
            refused=refused,
            since=since,
            ordered=ordered,
            quick=quick,
            available_now=available_now,
            in_batch=in_batch,
            options=options or {},
            conf=conf or {},
            report=report,
            stock=stock,
            with_option=with_option,
            emits=emits,
            once=once,
            later=later,
            finds=finds,
            why=why,
            late=late,
        )
        CASES.append(added)
        return build

    return add
