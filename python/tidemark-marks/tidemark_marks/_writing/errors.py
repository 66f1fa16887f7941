"""What a writer is given, checked before anything is written, and the errors for it."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark_marks._protocol.file_names import require_listed
from tidemark_marks._protocol.position import (
    FilesPosition,
    InvalidPositionError,
    KafkaPosition,
    Position,
    encode_position,
)
from tidemark_marks.errors import TidemarkError, invalid_option


def not_written(writer: str, location: str, problem: OSError) -> TidemarkError:
    """The error for a mark log that cannot be written."""
    reason = problem.strerror or str(problem)
    fix = (
        "making the brokers reachable, and the topic with cleanup.policy=delete, for these options"
        if location.startswith("kafka:")
        else "freeing space there or granting permission to write"
    )
    return _not_written(writer, location, reason, f"{fix}, and noting a time again")


def no_epoch_left(writer: str, location: str, fix: str) -> TidemarkError:
    """The error for a writer that can begin no new life, because one before has the largest epoch."""
    return _not_written(writer, location, "the largest epoch is taken", fix)


def _not_written(writer: str, location: str, reason: str, fix: str) -> TidemarkError:
    return TidemarkError(
        "MARK_NOT_WRITTEN",
        f"Writer '{writer}' cannot write to the mark log {location}: {reason}",
        fix,
        writer=writer,
        location=location,
        reason=reason,
    )


def not_read(location: str, problem: OSError) -> TidemarkError:
    """The error for a mark log that exists and cannot be read, or cannot be purged."""
    reason = problem.strerror or str(problem)
    fix = (
        "checking that the topic exists and its brokers can be reached"
        if location.startswith("kafka:")
        else "checking that it is a folder and granting permission to it"
    )
    return TidemarkError(
        "MARK_LOG_NOT_READ",
        f"The mark log {location} cannot be read or purged: {reason}",
        f"{fix}, and asking again",
        location=location,
        reason=reason,
    )


def called_inside(writer: str, inside: str) -> TidemarkError:
    """The error for a call that would wait for its own thread."""
    return TidemarkError(
        "MARK_CALL_INSIDE",
        f"Writer '{writer}' was called inside {inside}, by the same thread, so it would wait for itself",
        "calling it after that",
        writer=writer,
        inside=inside,
    )


def closed(writer: str) -> TidemarkError:
    """The error for a call after `end` or `close`."""
    return TidemarkError(
        "MARK_WRITER_CLOSED",
        f"Writer '{writer}' is closed",
        "calling it inside its with block, or by opening another writer of the name",
        writer=writer,
    )


def automatic(writer: str, what: str, instead: str) -> TidemarkError:
    """The error for what a writer that notes its times itself refuses.

    Args:
        writer: The writer's name.
        what: What it refuses, as in "no time can be given".
        instead: What to do and keep the writer as it is, if there is anything.
    """
    return TidemarkError(
        "MARK_AUTOMATIC",
        f"Writer '{writer}' notes its times automatically, so {what}",
        f"{instead}, or by opening the writer without automatic",
        writer=writer,
    )


def too_long(writer: str) -> TidemarkError:
    """The error for a mark that a reader would not take."""
    return TidemarkError(
        "MARK_TOO_LONG",
        f"A mark of writer '{writer}' would be longer than 1 MB, or than its log allows",
        "noting more often, so that a mark has fewer files or partitions",
        writer=writer,
    )


def fenced(writer: str, epoch: int) -> TidemarkError:
    """The error for a call of a writer whose place a later one has taken."""
    return TidemarkError(
        "MARK_WRITER_FENCED",
        f"A later writer of the name '{writer}' has begun, or its files were removed, so marks of "
        f"epoch {epoch} no longer count",
        "ending this process, and by giving processes that run side by side different names",
        writer=writer,
        epoch=epoch,
    )


def unknown_position(writer: str, where: str, reason: str) -> TidemarkError:
    """The error for rows of a topic or partition that may be anywhere."""
    return TidemarkError(
        "MARK_POSITION_UNKNOWN",
        f"Writer '{writer}' does not know how far it is in {where}: {reason}",
        "keeping the producer's acks=all, leaving delivery.report.only.error off, and noting a time again",
        writer=writer,
        position=where,
        reason=reason,
    )


def files_position(files: Iterable[str]) -> FilesPosition:
    """The position of a writer of files.

    Raises:
        TidemarkError: `INVALID_OPTION` for names that no source of files lists.
    """
    position = FilesPosition(frozenset([files] if isinstance(files, str) else files))
    try:
        encode_position(position)
    except InvalidPositionError as problem:
        raise no_position(f"{len(position.files)} files", f"valid: it {problem}") from problem
    require_listed(position)
    return position


def topic_names(topics: object) -> frozenset[str]:
    """The topics of a writer.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is neither text nor several texts.
    """
    given = [topics] if isinstance(topics, str) else topics
    names = list(given) if isinstance(given, Iterable) else []
    if names and all(isinstance(name, str) and name for name in names):
        return frozenset(names)
    raise invalid_option(
        "topics",
        topics,
        "the name of a topic, or several",
        "giving the topics that the writer writes to, such as 'orders'",
    )


def require_partition_numbers(position: Position) -> None:
    """Refuses partitions such as `"0"`: they would be compared with no other.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    if not isinstance(position, KafkaPosition):
        return
    for partitions in position.offsets.values():
        for partition in partitions:
            if type(partition) is not int:
                raise no_position(position, "one whose partitions are whole numbers")


def valid_position(position: Position) -> Position:
    """A position that can be written.

    Raises:
        TidemarkError: `INVALID_OPTION` for everything else.
    """
    try:
        encode_position(position)
    except (InvalidPositionError, KeyError, AttributeError, TypeError) as problem:
        raise no_position(position, "a position with valid values") from problem
    if isinstance(position, FilesPosition):
        require_listed(position)
    return position


def no_position(value: object, allowed: str) -> TidemarkError:
    return invalid_option(
        "position",
        value,
        allowed,
        "giving files=[...], or a position such as KafkaPosition({'orders': {0: 23}})",
    )
