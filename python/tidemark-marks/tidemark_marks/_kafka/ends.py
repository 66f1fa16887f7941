"""The ends of Kafka topics: what an earlier life of a writer may have written is before them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from tidemark_marks._writing.errors import unknown_position

_SECONDS = 30.0


def end_offsets(admin: Any, topics: Iterable[str], writer: str) -> dict[str, dict[int, int]]:
    """The offset of the next record of each partition; nothing of a topic that does not exist yet.

    Args:
        admin: A `confluent_kafka.admin.AdminClient`.
        topics: The topics.
        writer: The writer's name, for errors.

    Raises:
        TidemarkError: `MARK_POSITION_UNKNOWN` if the brokers cannot be asked.
    """
    # The package does not depend on it, and its types say nothing of these names.
    kafka: Any = import_module("confluent_kafka")
    latest = import_module("confluent_kafka.admin").OffsetSpec.latest()
    found: dict[str, dict[int, int]] = {}
    try:
        # All topics: a request that names one may create it.
        there = admin.list_topics(timeout=_SECONDS).topics
        asked = {
            kafka.TopicPartition(topic, partition): latest
            for topic in topics
            if topic in there
            for partition in there[topic].partitions
        }
        answers = admin.list_offsets(asked, request_timeout=_SECONDS) if asked else {}
        for part, answer in answers.items():
            found.setdefault(part.topic, {})[part.partition] = answer.result().offset
    except kafka.KafkaException as problem:
        where = ", ".join(sorted(topics))
        raise unknown_position(
            writer, where, f"the brokers gave no offsets: {problem}"
        ) from problem
    return found
