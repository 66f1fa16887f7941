"""What the cases read: some rows out of order, some late, and at the end one that moves all watermarks far on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Inputs:
    # Each feed's name and its schema.
    schemas: Mapping[str, str]
    # For each step, the rows added to each feed.
    steps: Sequence[Sequence[Rows]]


def inputs(schemas: Mapping[str, str], *steps: Sequence[Sequence[tuple[Any, ...]]]) -> Inputs:
    """Rows are written as tuples, in the order of the schema's columns."""
    columns = [[column.split()[0] for column in schema.split(", ")] for schema in schemas.values()]
    return Inputs(
        schemas,
        [
            [
                [dict(zip(names, row, strict=True)) for row in rows]
                for names, rows in zip(columns, step, strict=True)
            ]
            for step in steps
        ],
    )


WORDS = inputs(
    {"words": "timestamp TIMESTAMP, word STRING"},
    [[("10:02", "oak"), ("10:07", "elm"), ("10:08", "oak")]],
    [[("10:14", "oak"), ("10:09", "fir"), (None, "fir")]],
    [[("10:31", "elm"), ("10:06", "oak"), ("10:27", "fir")]],
    # One row that is late by now, and two that are not.
    [[("10:03", "ash"), ("10:22", "oak"), ("11:45", "oak")]],
    [[("14:00", "elm")]],
)

SECONDS = inputs(
    {"values": "timestamp TIMESTAMP, value LONG, batch LONG"},
    [[("10:00:01", 1, 1), ("10:00:15", 2, 1)]],
    [[("10:00:01", 1, 2), ("10:00:15", 2, 2), ("10:00:35", 3, 2)]],
    [[("10:00:15", 1, 3), ("10:00:20", 3, 3), ("10:00:26", 4, 3)]],
    [[("10:01:36", 5, 4), ("10:00:50", 6, 4)]],
    [[("10:05", 7, 5)]],
)

LINES = inputs(
    {"lines": "value STRING, timestamp TIMESTAMP"},
    [[("a b a", "10:00:02"), ("c", "10:00:07")]],
    [[("b c", "10:00:14"), ("a", "10:00:05")]],
    [[("c c a", "10:00:41")]],
    [[("b", "10:00:03"), ("a a", "10:03")]],
    [[("c", "10:30")]],
)

READINGS = inputs(
    {"readings": "device STRING, type STRING, signal DOUBLE, time TIMESTAMP"},
    [[("d1", "heat", 7.0, "10:01"), ("d2", "heat", 12.5, "10:03"), ("d3", "wind", 3.0, "10:02")]],
    [[("d1", "heat", 11.0, "10:13"), ("d3", "wind", 30.0, "10:09"), ("d2", None, 1.5, "10:12")]],
    [[("d2", "heat", 9.5, "10:47"), ("d1", "heat", 2.0, "10:11")]],
    [[("d3", "wind", 4.0, "10:05"), ("d3", "wind", 5.0, "11:30")]],
    [[("d1", "heat", 6.0, "15:00")]],
)

CALLS = inputs(
    {"calls": "userId STRING, timestamp TIMESTAMP"},
    [[("user1", "10:00"), ("user2", "10:00"), ("user3", "10:01")]],
    [[("user1", "10:04"), ("user2", "10:00:15"), ("user1", "10:00:04")]],
    [[("user3", "10:30"), ("user1", "10:08"), ("user2", "10:22")]],
    [[("user1", "10:02"), ("user2", "10:50"), ("user3", "10:26")]],
    [[("user9", "13:00")]],
)

EVENTS = inputs(
    {"events": "guid STRING, eventTime TIMESTAMP"},
    [[("g1", "10:00:00"), ("g2", "10:00:01"), ("g1", "10:00:00")]],
    [[("g1", "10:00:00"), ("g2", "10:00:04"), ("g3", "10:00:12")]],
    [[("g1", "10:00:00"), ("g3", "10:00:12"), ("g4", "10:00:30")]],
    [[("g3", "10:00:12"), ("g1", "10:00:33"), ("g4", "10:00:40"), ("g4", "10:00:40")]],
    [[("g9", "10:30:00")]],
)

VISITS = inputs(
    {"visits": "visit_id LONG, event_time TIMESTAMP, page STRING"},
    [[(1, "09:10", "a"), (2, "09:10", "b")]],
    [[(1, "09:10", "a"), (2, "09:25", "b"), (1, "09:18", "c")]],
    [[(1, "09:10", "a"), (100, "09:10", "d"), (3, "09:26", "a")]],
    [[(3, "09:41", "b"), (2, "09:25", "b"), (1, "10:05", "a")]],
    [[(7, "12:00", "z")]],
)

ADS = {
    "impressions": "impressionAdId LONG, impressionTime TIMESTAMP",
    "clicks": "clickAdId LONG, clickTime TIMESTAMP",
}

# Both inputs have reached the same time at the end of every step.
IN_STEP = inputs(
    ADS,
    [[(1, "10:00"), (2, "10:05"), (3, "10:10")], [(1, "10:10"), (9, "10:02")]],
    [[(4, "11:00"), (2, "10:30")], [(2, "10:40"), (4, "11:00"), (1, "10:55")]],
    [[(5, "14:00")], [(4, "11:50"), (5, "14:00")]],
    [[(6, "18:00"), (7, "17:30")], [(7, "18:00")]],
    [[(8, "23:00")], [(8, "23:00")]],
)

# A day later, to close the windows of joined rows.
THE_NEXT_DAY = inputs(ADS, [[(9, "2024-01-02T12:00:00Z")], [(9, "2024-01-02T12:00:00Z")]])
IN_STEP_AND_ON = Inputs(ADS, [*IN_STEP.steps, *THE_NEXT_DAY.steps])

# The clicks run ahead of the impressions, and each has rows that are late by the other's watermark.
APART = inputs(
    ADS,
    [[(1, "10:00"), (2, "10:05")], [(1, "10:10"), (1, "10:20"), (2, "12:30")]],
    [[(3, "10:30")], [(4, "15:01"), (3, "12:05"), (2, "15:04")]],
    [[(5, "15:00"), (4, "13:30")], []],
    [[(6, "19:00")], [(6, "19:10"), (5, "15:30")]],
    [[(8, "23:00")], [(8, "23:00")]],
)

PAIRS = inputs(
    {"left": "id LONG, timestamp TIMESTAMP", "right": "id LONG, timestamp TIMESTAMP"},
    [[(1, "10:00:10"), (2, "10:00:45")], [(1, "10:00:50")]],
    [[(2, "10:01:20"), (3, "10:01:30")], [(2, "10:01:00"), (3, "10:02:20")]],
    [[(4, "10:05:00")], [(4, "10:05:30"), (1, "10:02:00")]],
    [[(5, "10:20:00")], [(5, "10:20:00")]],
    [[(6, "13:00")], [(6, "13:00")]],
)

TWICE = inputs(
    {"first": "time TIMESTAMP, word STRING", "second": "time TIMESTAMP, word STRING"},
    [[("10:00", "oak"), ("10:04", "elm")], [("10:01", "oak"), ("10:03", "fir")]],
    [[("10:22", "elm")], [("10:25", "fir"), ("10:08", "oak")]],
    [[("11:00", "oak"), ("10:41", "elm")], [("11:02", "elm")]],
    [[("10:05", "ash"), ("12:00", "oak")], [("12:01", "oak"), ("10:02", "ash")]],
    [[("15:00", "elm")], [("15:00", "elm")]],
)

VALUES = inputs(
    dict.fromkeys(("data1", "data2", "data3"), "value LONG, event_time TIMESTAMP"),
    [
        [(1, "10:00:01"), (2, "10:00:02"), (3, "10:00:03")],
        [(30, "10:00:30"), (2, "10:00:02")],
        [(4, "10:00:04"), (5, "10:00:05")],
    ],
    [[(6, "10:00:46")], [(6, "10:00:46")], [(6, "10:00:46"), (3, "10:00:44")]],
    [[(7, "10:02")], [(7, "10:02")], [(8, "10:02")]],
    [[(9, "10:20")], [(9, "10:20")], [(9, "10:20")]],
    [[(10, "12:00")], [(10, "12:00")], [(10, "12:00")]],
)
