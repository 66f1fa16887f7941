"""The queries: what is kept over a restart is of another kind in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark import in_order, with_watermark

from .history import KEPT_HOURS

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState

Plan = Callable[[DataFrame, DataFrame], DataFrame]
"""A query over two inputs with the columns id (LONG), at (TIMESTAMP) and part (INT)."""

DELAY = "30 seconds"


def _marked(
    df: DataFrame,
    name: str,
    split_by: str | None = None,
    idle_after: str | None = None,
    delay: str = DELAY,
) -> DataFrame:
    named = df.toDF(f"id_{name}", f"at_{name}", f"part_{name}")
    split = f"{split_by}_{name}" if split_by else None
    return with_watermark(
        named, f"at_{name}", delay, key=name, split_by=split, idle_after=idle_after
    )


def _per_window(df: DataFrame, name: str) -> DataFrame:
    counted = df.groupBy(F.window(f"at_{name}", "2 minutes").alias("w"), F.col(f"id_{name}") % 3)
    return counted.agg(F.count("*"), F.sum(f"id_{name}")).toDF("w", "id", "rows", "ids")


def windows(left: DataFrame, right: DataFrame) -> DataFrame:
    """Counts of both inputs, side by side, each closed by its own time."""
    return _per_window(_marked(left, "a"), "a").union(_per_window(_marked(right, "b"), "b"))


def _joined(left: DataFrame, right: DataFrame, kind: str) -> DataFrame:
    near = "id_a = id_b AND at_b BETWEEN at_a AND at_a + INTERVAL 1 MINUTE"
    return _marked(left, "a").join(_marked(right, "b"), F.expr(near), kind)


def join(left: DataFrame, right: DataFrame) -> DataFrame:
    """An outer join, with what has found no match, and counts of it."""
    both = _joined(left, right, "left_outer")
    return both.groupBy(F.window("at_a", "2 minutes").alias("w")).agg(
        F.count("*"), F.count("id_b"), F.sum("id_a")
    )


def carried(left: DataFrame, right: DataFrame) -> DataFrame:
    """Windows of one time that carry another, which closes windows further up."""
    both = _joined(left, right, "inner")
    first = both.groupBy(F.window("at_a", "1 minute").alias("wa"), "at_b").count()
    return first.groupBy(F.window("at_b", "2 minutes").alias("w")).agg(F.sum("count"))


def sessions(left: DataFrame, right: DataFrame) -> DataFrame:
    """Each row once, and sessions of these."""
    both = _marked(left, "a").union(_marked(right, "b")).dropDuplicates(["id_a", "at_a"])
    per_session = both.groupBy(F.session_window("at_a", "20 seconds").alias("w"), "id_a")
    return per_session.agg(F.count("*"))


def splits(left: DataFrame, right: DataFrame) -> DataFrame:
    """A clock for each part of both inputs (a Kafka partition, a file's share)."""
    left, right = _marked(left, "a", "part"), _marked(right, "b", "part")
    return _per_window(left, "a").union(_per_window(right, "b"))


def many(left: DataFrame, right: DataFrame) -> DataFrame:
    """So many splits that the log has only what has changed."""
    left, right = _marked(left, "a", "id"), _marked(right, "b", "part")
    return _per_window(left, "a").union(_per_window(right, "b"))


def silence(left: DataFrame, right: DataFrame) -> DataFrame:
    """One input falls silent, and is not waited for; the splits of the other may, too."""
    loud, silent = (
        _marked(left, "a", "part", idle_after="1 second"),
        _marked(right, "b", idle_after="1 second"),
    )
    return _per_window(loud.union(silent), "a")


def hours(left: DataFrame, right: DataFrame) -> DataFrame:
    """Groups in windows of an hour, which most batches leave unscanned."""
    both = _marked(left, "a").union(_marked(right, "b"))
    return both.groupBy(F.window("at_a", "1 hour").alias("w"), "id_a").count()


def distinct(left: DataFrame, right: DataFrame) -> DataFrame:
    """Each row once, with more keys in state than are scanned in each batch."""
    delay = f"{KEPT_HOURS} hours"
    both = _marked(left, "a", delay=delay).union(_marked(right, "b", delay=delay))
    return both.dropDuplicates(["id_a", "at_a"])


def matches(left: DataFrame, right: DataFrame) -> DataFrame:
    """An inner join, with more rows in state than are scanned in each batch."""
    hours = f"INTERVAL {KEPT_HOURS} HOURS"
    near = f"id_a = id_b AND at_b BETWEEN at_a - {hours} AND at_a + {hours}"
    return _marked(left, "a").join(_marked(right, "b"), F.expr(near))


def order(left: DataFrame, right: DataFrame) -> DataFrame:
    """Rows by their event time, each beside the one before it, which the function remembers."""
    both = _marked(left, "a").union(_marked(right, "b"))
    ordered = in_order(both, "at_a", by="id_a", then="part_a")
    columns = "id LONG, before TIMESTAMP, at TIMESTAMP, part INT"
    return ordered.groupBy("id_a").applyInPandasWithState(
        _beside_the_one_before(), columns, "before TIMESTAMP", "append", "NoTimeout"
    )


def _beside_the_one_before() -> Callable[..., Iterator[pd.DataFrame]]:
    def found(
        key: tuple[int], frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        for frame in frames:
            (last,) = state.get if state.exists else (None,)
            frame = frame.assign(before=frame["at_a"].shift())
            frame.loc[frame.index[0], "before"] = last
            state.update((frame["at_a"].iloc[-1].to_pydatetime(),))
            yield frame[["id_a", "before", "at_a", "part_a"]].set_axis(
                ["id", "before", "at", "part"], axis=1
            )

    return found


PLANS: dict[str, Plan] = {
    plan.__name__: plan
    for plan in (
        windows,
        join,
        carried,
        sessions,
        splits,
        many,
        silence,
        hours,
        distinct,
        matches,
        order,
    )
}
