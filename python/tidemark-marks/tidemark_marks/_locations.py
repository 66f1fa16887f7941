"""The location of a mark log: a folder, or `kafka:<topic>` and `kafka:<topic>/<stream>`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from tidemark_marks._folder_log import FolderLog
from tidemark_marks._kafka.topic_client import KafkaTopic
from tidemark_marks._kafka.topic_log import TopicLog
from tidemark_marks._protocol.files import local_path
from tidemark_marks._store import MarkStore
from tidemark_marks.errors import invalid_option

KAFKA = "kafka:"

_TOPIC = re.compile(r"kafka:([A-Za-z0-9._-]{1,249})(?:/([^\0]{1,200}))?")


def open_store(location: object, options: Mapping[str, Any] | None) -> MarkStore:
    """The mark log in a location. Nothing is read yet.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    text = os.fspath(location) if isinstance(location, os.PathLike) else location
    if not (isinstance(text, str) and text.startswith(KAFKA)):
        if options is not None:
            raise invalid_option(
                "options", _names(options), "left out for a folder", "leaving them out"
            )
        return FolderLog(local_path(location))
    found = _TOPIC.fullmatch(text)
    if found is None:
        example = "giving a location such as 'kafka:tidemark-marks/orders'"
        raise invalid_option("location", text, "kafka:<topic>, or kafka:<topic>/<stream>", example)
    if not isinstance(options, Mapping) or not options.get("bootstrap.servers"):
        example = "giving options={'bootstrap.servers': 'host:9092'}"
        raise invalid_option(
            "options", _names(options), "settings of confluent-kafka with its brokers", example
        )
    topic, stream = found.groups()
    return TopicLog(text, KafkaTopic(topic, options), stream or "")


def _names(options: object) -> object:
    """The names of settings: their values may be passwords."""
    return sorted(map(str, options)) if isinstance(options, Mapping) else options
