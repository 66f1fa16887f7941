"""The location of a mark log: a folder, or `kafka:<topic>` and `kafka:<topic>/<stream>`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from tidemark._errors import TidemarkError
from tidemark._marks.folder_log import FolderLog
from tidemark._marks.kafka.topic_client import KafkaTopic
from tidemark._marks.kafka.topic_log import TopicLog
from tidemark._marks.protocol.files import local_path
from tidemark._marks.store import MarkStore

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
            raise _invalid("options", options, "left out for a folder", "leaving them out")
        return FolderLog(local_path(location))
    found = _TOPIC.fullmatch(text)
    if found is None:
        example = "giving a location such as 'kafka:tidemark-marks/orders'"
        raise _invalid("location", text, "kafka:<topic>, or kafka:<topic>/<stream>", example)
    if not isinstance(options, Mapping) or not options.get("bootstrap.servers"):
        example = "giving options={'bootstrap.servers': 'host:9092'}"
        raise _invalid("options", options, "settings of confluent-kafka with its brokers", example)
    topic, stream = found.groups()
    return TopicLog(text, KafkaTopic(topic, options), stream or "")


def _invalid(option: str, value: object, allowed: str, fix: str) -> TidemarkError:
    # Settings may contain passwords.
    shown = sorted(map(str, value)) if isinstance(value, Mapping) else value
    return TidemarkError(
        "INVALID_OPTION",
        f"{option} is {shown!r}, but it must be {allowed}",
        fix,
        option=option,
        value=repr(shown),
        allowed=allowed,
    )
