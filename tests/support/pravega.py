"""Pravega's segments, and its windows that come from aggregated watermarks: what vectors and models need.

A segment has a number and a range of keys. A segment with an overlapping range and a higher number
succeeds one with a lower number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidemark_marks._reading.aggregation import Aggregate, StreamMarks

Position = dict[int, int]
"""Segment to offset."""


@dataclass
class Segments:
    """The ranges of all segments, and the segments of the highest epoch."""

    ranges: dict[int, tuple[float, float]]
    highest: list[int] = field(default_factory=list)

    def overlap(self, segment: int, other: int) -> bool:
        (low, high), (other_low, other_high) = self.ranges[segment], self.ranges[other]
        return low < other_high and other_low < high

    def compare(self, read: Position, cut: Position) -> int:
        """`WatermarkReaderImpl.compare`: pairs of overlapping segments by segment and offset."""
        pairs = [
            ((segment, offset), (other, other_offset))
            for segment, offset in read.items()
            for other, other_offset in cut.items()
            if self.overlap(segment, other)
        ]
        is_below = any(left < right for left, right in pairs)
        is_above = any(left > right for left, right in pairs)
        return (0 if is_above else -1) if is_below else 1

    def cut(self, positions: Sequence[Position], previous: Position | None) -> Position:
        """`addToUpperBound` and `computeStreamCut` of `PeriodicWatermarking`."""
        bound: Position = {}
        for position in [*positions, *([previous] if previous else [])]:
            for segment, offset in position.items():
                if segment in bound:
                    bound[segment] = max(bound[segment], offset)
                elif not any(other > segment and self.overlap(other, segment) for other in bound):
                    replaced = [other for other in bound if self.overlap(other, segment)]
                    for older in replaced:
                        del bound[older]
                    bound[segment] = offset
        while missing := self._missing(bound):
            for segment in missing:
                for older in [other for other in bound if self.overlap(other, segment)]:
                    del bound[older]
                bound[segment] = 0
        return bound

    def _missing(self, bound: Position) -> list[int]:
        def is_covered(segment: int) -> bool:
            at, high = self.ranges[segment]
            for low, end in sorted(self.ranges[segment] for segment in bound):
                if low <= at:
                    at = max(at, end)
            return at >= high

        return [
            segment for segment in self.highest if segment not in bound and not is_covered(segment)
        ]


class PravegaWindows:
    """`WatermarkReaderImpl`: the window of a reader group, from the stream's watermarks."""

    def __init__(self, segments: Segments, marks: Sequence[Aggregate[Position]]) -> None:
        self._segments = segments
        self._marks = list(marks)
        self._inflight: list[Aggregate[Position]] = []
        self._passed: int | None = None

    def window(self) -> tuple[int | None, int | None]:
        return self._passed, self._inflight[-1].upper_millis if self._inflight else None

    def advance(self, read: Position) -> None:
        def compare(mark: Aggregate[Position]) -> int:
            return self._segments.compare(read, mark.cut)

        while self._inflight and compare(self._inflight[0]) > 0:
            self._passed = self._inflight.pop(0).lower_millis
        while self._marks and (not self._inflight or compare(self._inflight[-1]) >= 0):
            mark = self._marks.pop(0)
            if compare(mark) <= 0:
                self._inflight.append(mark)
            else:
                self._passed = mark.lower_millis


class TimedStream(StreamMarks):
    """Writers with Pravega's timeout: a writer that stays behind is dropped after it. Tidemark asks the log instead."""

    def __init__(self, cut: Any, timeout_millis: int | None, previous: Aggregate | None = None):
        super().__init__(cut, previous)
        self._timeout = timeout_millis
        self.behind_since: dict[str, int] = {}
        """When each writer was first found behind, in ms."""
        self.now_millis = 0

    def is_active(self, writer: str) -> bool:
        if self.is_participating(writer):
            self.behind_since.pop(writer, None)
            return True
        if not super().is_active(writer):
            return False
        since = self.behind_since.setdefault(writer, self.now_millis)
        return self._timeout is None or self.now_millis - since < self._timeout
