"""Records of a topic between two cuts, each of which has an offset for each partition."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidemark._errors import invalid_option
from tidemark._mark_logs.source import Source, lower
from tidemark_marks.shared import KafkaRange, Offsets, expired, not_readable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger("tidemark")

_KAFKA = frozenset(
    ["assign", "subscribepattern"]
    + [f"{end}{what}" for end in ("starting", "ending") for what in ("offsets", "timestamp")]
    + [f"{end}offsetsbytimestamp" for end in ("starting", "ending")]
)

# Parts of the errors of Spark's Kafka reader for an offset, a partition or a topic that does not exist.
_NOT_IN_KAFKA = (
    "Some data may have been lost",
    "don't match what are assigned",
    "specify all TopicPartitions",
)
_OFFSETS = re.compile(r"in offset \[(\d+), \d+\)\s+for\s+topic\s+partition\s+(\S+)")


def subscribed(options: Mapping[str, object]) -> tuple[str, ...]:
    """The topics of the option `subscribe`.

    Raises:
        TidemarkError: `INVALID_OPTION` if there are none: the mark log must not choose them.
    """
    given = str(lower(options).get("subscribe") or "")
    topics = tuple(topic.strip() for topic in given.split(",") if topic.strip())
    if not topics:
        raise invalid_option("subscribe", given, "the topics to read, such as 'orders'")
    return topics


def read(source: Source, rows: KafkaRange) -> DataFrame:
    """The records of a range of offsets."""
    source.reader(_KAFKA)
    topics = subscribed(source.options)
    if not rows.ending:
        raise not_readable(
            f"the cut has no offset of topic {', '.join(map(repr, topics))}",
            "subscribing to a topic that the mark log is about",
        )
    missing = [topic for topic in topics if topic not in rows.ending]
    if missing:
        # No writer has rows of it before the cut, unless its name is misspelled.
        _log.warning("The cut has no offset of topic %s", ", ".join(map(repr, missing)))
    full = _without_empty(rows)
    if full.ending:
        _require_in_kafka(source, full)
        return _between(source, full.starting, full.ending)
    # Spark wants a partition, also to read nothing.
    topic, ends = next(iter(rows.ending.items()))
    nothing = {topic: dict([next(iter(ends.items()), (0, 0))])}
    return _between(source, nothing, nothing)


def _between(source: Source, starting: Offsets, ending: Offsets) -> DataFrame:
    options = {name: v for name, v in source.options.items() if name.lower() != "subscribe"}
    reader = source.spark.read.format("kafka").options(**options)
    # Partitions that the cuts do not name have no rows of the range, so they are not assigned.
    assigned = {topic: sorted(offsets) for topic, offsets in ending.items()}
    return (
        reader.option("assign", json.dumps(assigned))
        .option("startingOffsets", _text(starting))
        .option("endingOffsets", _text(ending))
        .option("failOnDataLoss", "true")
        .load()
    )


def _require_in_kafka(source: Source, rows: KafkaRange) -> None:
    """Reads the first and the last record of each partition, so that a loss has a name now.

    With `failOnDataLoss`, the reader itself fails wherever an offset is out of Kafka's range.
    So the DataFrame is safe as well, if records are deleted before it is read.
    """
    after_first = {
        t: {p: n + 1 for p, n in offsets.items()} for t, offsets in rows.starting.items()
    }
    before_last = {t: {p: n - 1 for p, n in offsets.items()} for t, offsets in rows.ending.items()}
    first = _between(source, rows.starting, after_first)
    last = _between(source, before_last, rows.ending)
    try:
        first.select("offset").unionAll(last.select("offset")).collect()
    except Exception as problem:
        text = str(problem)
        if not any(part in text for part in _NOT_IN_KAFKA):
            raise
        found = _OFFSETS.search(text)
        where = f" at offset {found[1]} of {found[2]}" if found else " of a partition of the cut"
        raise expired(f"Kafka has no record{where}") from problem


def _without_empty(rows: KafkaRange) -> KafkaRange:
    starting: dict[str, dict[int, int]] = {}
    ending: dict[str, dict[int, int]] = {}
    for topic, offsets in rows.ending.items():
        for partition, last in offsets.items():
            first = rows.starting[topic][partition]
            if first < last:
                starting.setdefault(topic, {})[partition] = first
                ending.setdefault(topic, {})[partition] = last
    return KafkaRange(starting, ending)


def _text(offsets: Offsets) -> str:
    return json.dumps(
        {t: {str(p): n for p, n in partitions.items()} for t, partitions in offsets.items()}
    )
