"""Why a topic did not take a record: it is too long, its producer is fenced off, or something that may pass."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tidemark_marks._protocol.text import UnusableError


def is_too_long(reason: Any) -> bool:
    """Whether a `KafkaError` says that the producer or the brokers take no record of this length."""
    code = reason.code() if hasattr(reason, "code") else None
    return bool(code == import_module("confluent_kafka").KafkaError.MSG_SIZE_TOO_LARGE)


def is_fencing(reason: Any) -> bool:
    """Whether a `KafkaError` says that another producer has taken the transactional id."""
    name = reason.name() if hasattr(reason, "name") else ""
    return name in ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


def not_taken(topic: str, reason: Any) -> OSError | UnusableError:
    """The exception for a record that was not taken.

    Args:
        topic: The topic's name.
        reason: The `KafkaError`, or another problem.
    """
    if is_too_long(reason):
        return UnusableError("too long")
    return OSError(f"topic '{topic}' did not take a record: {reason}")
