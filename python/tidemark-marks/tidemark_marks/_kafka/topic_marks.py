"""The marks of one stream in a topic, as its records are read."""

from __future__ import annotations

from collections.abc import Collection

from tidemark_marks._kafka.topic import Record
from tidemark_marks._kafka.topic_text import read_claim, writer_of
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import FileName
from tidemark_marks._protocol.skipped import Skips
from tidemark_marks._protocol.text import MOST_LINE, UnusableError, decode
from tidemark_marks._reading.log import Contents, Correction, Unread


class TopicMarks:
    """Takes in records, in the order of each partition.

    A record that cannot be used may be a mark. Between two marks the numbers show it. Before the
    first one, and behind the last one, only this class knows. One without a value is none: it lets
    Kafka remove the records before it.
    """

    def __init__(self, topic: str, stream: str) -> None:
        self._topic = topic
        self._stream = stream
        self._marks: dict[str, list[Mark]] = {}
        self._skipped = Skips()
        self._began: set[tuple[str, int]] = set()
        self._damaged: set[str] = set()
        self._torn: dict[str, dict[int, Record]] = {}
        self._corrections: list[Correction] = []

    def add(self, record: Record) -> bool:
        """Takes in one record. Those of other streams, and claims, are passed over.

        Returns:
            Whether it may be of this stream.
        """
        try:
            writer = writer_of(record.key, self._stream)
        except UnusableError as problem:
            self._skip(record, str(problem))
            return True
        if writer is None:
            return False
        try:
            mark = self._mark(writer, record.value)
        except UnusableError as problem:
            self._skip(record, str(problem))
            if record.value is not None:
                self._torn.setdefault(writer, {})[record.partition] = record
            if (writer, record.partition) not in self._began:
                self._damaged.add(writer)
            return True
        if mark is not None:
            self._marks.setdefault(writer, []).append(mark)
            if record.appended_millis is not None:
                wrong_by = record.appended_millis - mark.written_millis
                self._corrections.append(Correction(writer, mark.epoch, mark.number, wrong_by))
            self._began.add((writer, record.partition))
            self._torn.get(writer, {}).pop(record.partition, None)
        return True

    def of(self, writer: str) -> list[Mark]:
        """The marks of a writer, in no promised order."""
        return list(self._marks.get(writer, ()))

    def is_torn(self, writer: str) -> bool:
        """Whether there is a record behind the last mark that cannot be used."""
        return bool(self._torn.get(writer))

    def contents(self, only: Collection[str] | None = None) -> Contents:
        """What was read until now, of these writers only, and all that was left out."""

        def is_wanted(writer: str) -> bool:
            return only is None or writer in only

        marks = [mark for writer, own in self._marks.items() if is_wanted(writer) for mark in own]
        # As if a file's name promised a mark before all others.
        lost = [
            FileName(writer, 0, first=0, last=0) for writer in self._damaged if is_wanted(writer)
        ]
        unread = (self._unread(writer) for writer in self._torn if is_wanted(writer))
        return Contents(
            tuple(marks),
            tuple(lost),
            self._skipped.first,
            self._skipped.count,
            tuple(self._corrections),
            tuple(writer for writer in unread if writer is not None),
            has_host_clocks=True,
        )

    def _unread(self, writer: str) -> Unread | None:
        """The newest record of a writer that may be a mark behind all others."""
        epoch, number = max((mark.place for mark in self.of(writer)), default=(0, -1))
        found: list[Unread] = []
        for record in self._torn[writer].values():
            claimed = read_claim(record.value)
            own = epoch if claimed is None else claimed.epoch
            # A later life has read what earlier ones have said.
            if own >= epoch:
                written = own if record.appended_millis is None else record.appended_millis
                found.append(Unread(writer, own, number + 1 if own == epoch else 0, written))
        return max(found, default=None)

    def _mark(self, writer: str, value: bytes | None) -> Mark | None:
        """The mark of a record; None for a claim."""
        if value is None:
            raise UnusableError("json")
        if len(value) > MOST_LINE:
            raise UnusableError("long")
        try:
            mark = decode(value)
        except UnusableError as problem:
            claimed = read_claim(value) if str(problem) == "k" else None
            if claimed is not None and claimed.claim is not None:
                return None
            raise
        if mark.writer != writer:
            raise UnusableError("writer")
        return mark

    def _skip(self, record: Record, reason: str) -> None:
        self._skipped.add(f"{self._topic}-{record.partition}", record.offset, reason)
