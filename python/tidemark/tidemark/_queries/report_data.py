"""The data of a report: what the engine's `tidemark_report` returns, field by field.

Every field may be absent. Names that end in `_ms` are numbers of milliseconds: a time since the
epoch in UTC, or a length of time where that is said. A time is None if it is not defined yet.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class ReportData(TypedDict, total=False):
    """A report: the query, why nothing comes out, its inputs, and its operators."""

    query: QueryData
    zone: str
    """The session's time zone, in which the text shows times."""
    why: WhyData
    engine: Literal["tidemark", "spark"]
    reason: str
    """Why the query is left to Spark."""
    batch: int | None
    """The last batch that has ended."""
    waiting_since: Literal["start", "restart"]
    """Present until a run has planned its first batch. Everything else is then from the checkpoint's last entry."""
    inputs: list[InputData]
    """One for each `withWatermark`."""
    hints: list[HintData]
    """What a user should know, with the warnings of the check at the start."""
    outputs: list[OutputData]
    """Of a query that notes its time."""
    calls: list[CallsData]
    """Of a query with `map_async`, after a batch of this run."""
    plan: OperatorData | None
    """The last operator, with those that it reads."""
    history: HistoryData
    """Absent if `spark.tidemark.history` is off."""
    text: str
    """The report as `print` shows it."""


class QueryData(TypedDict):
    """A streaming query."""

    id: str
    runId: str | None
    name: str | None


class WhyData(TypedDict):
    """Why nothing comes out of a query, or that it does."""

    code: str
    """A stable name; `docs/why.md` lists them."""
    sentence: str
    fix: str | None
    """What to do, as it continues after "Fix this by"."""
    held_by: str | None
    """The key of the input that results wait for."""
    is_trouble: bool
    """Whether rows are lost, or results wait for what need not come."""


class HintData(TypedDict, total=False):
    """A hint, like an error of `docs/errors.md`."""

    code: str
    message: str
    parameters: dict[str, str]


class OutputData(TypedDict):
    """A mark log that the query notes its time in."""

    column: str
    location: str
    writer: str
    noted_ms: int | None
    failures: int
    """How many marks could not be written."""


class InputData(TypedDict, total=False):
    """An input. The fields from `split_by` on are those of one with splits, an idle time or `max_ahead`."""

    key: str
    column: str
    delay_ms: int
    """A length."""
    watermark_ms: int | None
    watermark: str
    """The same as text in the session's time zone, or `undefined`."""
    late_watermark_ms: int | None
    """The watermark of the last batch: it judges the rows of the next."""
    max_event_time_ms: int | None
    split_by: list[str]
    idle_after_ms: int | None
    """A length, like the other two options."""
    forget_after_ms: int
    max_ahead_ms: int | None
    on_return: Literal["hold", "catch_up"]
    when_all: Literal["hold", "rise", "advance"]
    at_join: Literal["hold", "follow"]
    idle: bool
    """Whether the whole input is idle."""
    waiting: bool
    """Whether rows wait to be read."""
    far_ahead_rows: int
    splits: SplitsData
    noted: NotedData


class SplitsData(TypedDict, total=False):
    """The splits of an input: `total` is the sum of `active`, `idle` and `catching_up`."""

    total: int
    active: int
    idle: int
    catching_up: int
    without_rows: int
    """Active ones that never had a row."""
    without_clock: int
    worst: list[SplitData]
    """The five that are furthest behind."""
    furthest: list[SplitData]
    """The same for drawings, at most fifty."""
    idle_ones: list[SplitData]
    """At most five."""


class SplitData(TypedDict, total=False):
    """A split, which is a writer where the input is noted."""

    name: str | None
    state: Literal["active", "without_rows", "catching_up"]
    """Of one that is not idle."""
    clock_ms: int | None
    """Of a writer: the last noted time that is passed, less the delay. Absent in `furthest`."""
    behind_ms: int | None
    """A length: how far it is behind the furthest one."""
    last_active_ms: int | None
    """The end of the last batch with rows of it, or of the last that found news of the writer."""
    silent_ms: int
    """A length: what counts as silence since then."""
    silent_of_ms: int | None
    """A length: all of that time."""
    is_expected: bool
    """Present, and true, if it is expected and never had a row."""
    idle_at_ms: int | None
    """When one of the worst becomes idle if it stays silent; None if it never does."""
    has_ended: bool
    """Of an idle writer."""
    holds_since_ms: int | None
    """Of a writer among the worst: since when no later time of it is passed, as far as this run knows."""
    mark: MarkData | None
    """The same for its last mark that is passed."""
    next: NextMarkData | None
    """The same for what it has noted ahead."""


class MarkData(TypedDict):
    """A mark that is passed."""

    epoch: int
    """The life of its writer."""
    number: int
    """Its number there."""
    last_news_ms: int
    """When a passed mark last said something new."""


class NextMarkData(TypedDict, total=False):
    """What a writer has noted ahead of what is read."""

    time_ms: int | None
    """The next noted time."""
    waits_for: str | None
    """What has to be read first, such as a partition or a file."""
    at: int | None
    """Up to which offset or version."""
    read: int | None
    """How far it is read."""
    why: str | None
    """Why a file may never be read."""
    is_broken: bool
    """Marks before are missing."""
    is_damaged: bool
    """The newest lines cannot be read."""
    far_ahead_ms: int | None
    """A noted time that is not believed yet."""


class NotedData(TypedDict, total=False):
    """The mark log of an input."""

    location: str
    log_read_ms: int | None
    """When this run began to read what is shown of it."""
    lower_ms: int | None
    """The time window."""
    upper_ms: int | None
    ended: int
    """How many writers have ended."""
    skipped_lines: dict[str, int]
    """Lines that cannot be used, by the reason."""
    promises_broken: BrokenData | None
    """None where late rows are not counted."""


class BrokenData(TypedDict):
    """Rows of this run that were late by what writers had noted."""

    rows: int
    most_ms: int
    """A length."""


class BoundsData(TypedDict, total=False):
    """What is late at an operator with state, and what is evicted there."""

    late_ms: int | None
    """Rows at or before it are late."""
    eviction_ms: int | None
    """State up to it is evicted."""
    held_by: str | None
    late: LateData | None
    """None before a batch has ended."""
    skipped_scans: int
    """How many batches of this run did not scan the state, because too little in it was due."""
    never_late: bool
    """Present, and true, where no row is ever late."""
    keeps_forever: bool
    """Present, and true, where no watermark evicts the state."""


class SideData(BoundsData, total=False):
    """A side of a join."""

    side: Literal["left", "right"]


class OperatorData(BoundsData, total=False):
    """An operator, with the operators that it reads. One with state has an `id`.

    A join has its bounds in its `sides`, and any other operator with state has its own.
    """

    operator: str
    id: int
    key: str
    """Of a `withWatermark`."""
    columns: list[ColumnData]
    least_ms: int | None
    """Where no event-time column is left: everything below has passed this time."""
    inputs_without_event_time: list[int]
    """Of a union: the inputs that it does not wait for."""
    state_rows: int | None
    """How many rows are in its state after a batch of this run."""
    late_rows: int
    passed_rows: int
    """Late rows that were passed on: then `late_rows` does not count them."""
    next_due_ms: int
    """The watermark at which the first window in the state ends, or the next one if none is known there."""
    sides: list[SideData]
    order: OrderData
    """Of a function of groups, a deduplication, or a limit."""
    held: HeldData
    """Of an `in_order`, after a batch of this run."""
    children: list[OperatorData]


class ColumnData(TypedDict, total=False):
    """An event-time column: its watermark below an operator, and above it."""

    name: str
    key: str
    in_ms: int | None
    out_ms: int | None
    held_by: str | None


class LateData(TypedDict, total=False):
    """Late rows since this run began, and in the last batch that had any, as `late_rows` returns them."""

    key: str | None
    """The input whose watermark judges rows there; None if a union has made it of several."""
    held_by: str | None
    rows: int
    most_ms: int
    """A length."""
    last_rows: int
    last_ms: int
    """A length."""
    last_batch: int | None
    passed: bool
    """Present, and true, if they were passed on."""
    splits: list[LateSplitData]
    """The ten with most late rows. Absent where the split of a row is not known."""


class LateSplitData(TypedDict):
    """A split that had late rows."""

    name: str
    rows: int


class OrderData(TypedDict, total=False):
    """In what order an operator reads its rows."""

    kind: Literal["time", "arrival", "none"]
    """By `columns`, or as the source has them."""
    columns: list[str]
    over_batches: bool
    """False if each batch is in order by itself."""
    of_groups: bool
    """Whether it holds for each group of rows, or else for all rows."""
    lost_at: str | None
    """What has lost the order, or a part of it: of kind `arrival` that between source tasks."""
    why: str | None


class HeldData(TypedDict, total=False):
    """Rows that wait to be in order."""

    rows: int
    bytes: int
    oldest_ms: int | None
    next_due_ms: int | None
    """The watermark at which the first row is emitted."""
    last_due_ms: int | None
    """That at which the last one is."""
    waits_for: str | None
    """The input whose watermark they wait for."""
    split: str | None
    """The split that holds it back."""


class CallsData(TypedDict, total=False):
    """The asynchronous calls of a column."""

    column: str
    last: CallCounts
    """Of the last batch that had any."""
    all: CallCounts
    """Of this run."""


class CallCounts(TypedDict, total=False):
    """Numbers of calls, and how long they took."""

    calls: int
    retries: int
    failed: int
    timed_out: int
    defaulted: int
    """Rows that were given a default."""
    most_in_flight: int
    """In a task."""
    p50_ms: float | None
    """A length, like the other two."""
    p99_ms: float | None
    slowest_ms: float | None
    slowest: str | None
    """The inputs of the call that took longest."""


class HistoryData(TypedDict, total=False):
    """What the watermarks of this run have been, at 512 moments at most: lists of one length."""

    batches: int
    """How many batches there were."""
    batch: list[int]
    time_ms: list[int]
    """When the batch ended."""
    late_rows: list[int]
    state_rows: list[int]
    inputs: list[dict[str, Any]]
    """At most 32: each with its `key`, and lists of `watermark_ms`, `max_event_time_ms`, and of how many splits are
    `active` and `idle`."""
    inputs_left_out: int
