"""What the table says beside its figures: the parts' titles, and why they come out so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartText:
    """A part of the table: its runs as (function in ``parts``, silent, label)."""

    title: str
    cases: tuple[tuple[str, bool, str], ...]
    why: tuple[str, ...]


PARTS = (
    PartText(
        "1. Two dashboards in one query: hourly departures, and hourly weather, per airport",
        (
            ("departures_alone", False, "departures alone"),
            ("two_dashboards", False, "weather live"),
            ("two_dashboards", True, "weather silent from 12"),
        ),
        (
            "The two have nothing to do with each other. Stock has one watermark for both, so",
            "the departures wait for each hour's weather, for six hours in the night's hole,",
            "and for good once the weather is silent. With a watermark per column they come",
            "out as if they were alone. (The state is that of both dashboards together.)",
        ),
    ),
    PartText(
        "2. Flights with their weather: a left outer join, counted per airport and hour",
        (
            ("flights_with_weather", False, "weather live"),
            ("flights_with_weather", True, "weather silent from 12"),
            ("flights_with_weather_or_silence", True, "silent, with idle_after"),
        ),
        (
            "Here the flights must wait: a departure without weather may come out only when",
            "weather for it can no longer come, that is when the weather's watermark has passed",
            "it. What changes: stock takes an hour off for the other side's condition, as it",
            "knows one watermark; with one per column the departures are bounded by the weather",
            "alone, and are out an hour sooner. What still waits: the night's hole, and a silent",
            "weather, unless it may be left out. The option for that on the weather's watermark is",
            "Idle(after=..., at_join='follow'): once the weather has been silent for three",
            "seconds, by the wall clock, the flights go on without it.",
        ),
    ),
    PartText(
        "3. The joined rows, grouped by the hour of departure and by the weather's time",
        (("by_both_times", False, "weather live"),),
        (
            "Both columns are event time. Stock knows one per operator; with a watermark that",
            "follows its column the hour closes by the departure, and the other is carried.",
        ),
    ),
    PartText(
        "4. A second watermark after the join",
        (("second_watermark", False, "weather live"),),
        (
            "The job states again how late rows may be, for what comes out of the join: an hour is",
            "closed once later departures have met their weather. Stock notices only when the",
            "first watermark moves, with the query running.",
        ),
    ),
)
