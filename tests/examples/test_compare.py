"""`make compare`: small questions answered by stock Spark in several ways, and by Tidemark."""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.pages import ROOT
from support.processes import run_example

from compare import after_join, together
from compare.cases import Case, Given, cases
from compare.clocks import NONE, Clocks, Each, OneClock, Policy, Splits
from compare.figures import Figures, figures
from compare.files import arrive, newest_step
from compare.inputs import STEPS, THE_END, TODAY, Step, flights, link_dead, link_down, stragglers
from compare.joined import OfEachSide, OneWatermark, all_joined, joined
from compare.rule import TOGETHER, Outcome, counted, lost, truth
from compare.table import advice, cells, in_both
from compare.way import SHORT, Rows

TABLES = ROOT / "examples" / "compare" / "README.md"
PAGE = ROOT / "docs" / "do-i-need-it.md"
TEN = timedelta(minutes=10)
HOUR = timedelta(hours=1)


def at(clock: str) -> datetime:
    hour, minute = map(int, clock.split(":"))
    return datetime(2013, 11, 1, hour, minute)


def step(**clocks: str) -> Step:
    """The rows of a step: `EWR="10:00 10:05"`."""
    return {part: [at(time) for time in text.split()] for part, text in clocks.items()}


def after(clocks: Clocks, *steps: Step) -> datetime:
    for step in steps:
        clocks.observe(step)
    return clocks.of("EWR")


def test_one_clock_is_the_largest_event_time_less_the_delay_and_never_goes_back() -> None:
    assert OneClock(TEN).of("EWR") == NONE
    assert after(OneClock(TEN), step(EWR="10:00", LGA="9:00"), step(EWR="9:30")) == at("9:50")


def test_a_policy_takes_the_minimum_or_the_maximum_over_the_inputs_of_a_step() -> None:
    delays = {"EWR": TEN, "LGA": HOUR}
    assert after(Policy(min, delays), step(EWR="10:00", LGA="10:30")) == at("9:30")
    assert after(Policy(max, delays), step(EWR="10:00", LGA="10:30")) == at("9:50")
    # An input without rows in a step holds the minimum, however far it had come.
    silent = [step(EWR="10:00", LGA="12:00"), step(EWR="11:00", LGA="")]
    assert after(Policy(min, delays), *silent) == at("9:50")
    assert after(Policy(max, delays), *silent) == at("11:00")


def test_the_slowest_split_holds_the_watermark_until_it_has_been_silent_for_long() -> None:
    steps = [step(EWR="10:00", LGA="9:00"), step(EWR="11:00", LGA=""), step(EWR="12:00", LGA="")]
    assert after(Splits(TEN), *steps) == at("8:50")
    assert after(Splits(TEN, 3), *steps) == at("8:50")
    assert after(Splits(TEN, 2), *steps) == at("11:50")
    # Back again, it holds the watermark where it is.
    assert after(Splits(TEN, 2), *steps, step(EWR="13:00", LGA="9:30")) == at("11:50")


def test_each_input_has_its_own_watermark() -> None:
    clocks = Each({"EWR": OneClock(TEN), "LGA": OneClock(HOUR)})
    clocks.observe(step(EWR="10:00", LGA="9:00"))
    assert (clocks.of("EWR"), clocks.of("LGA")) == (at("9:50"), at("8:00"))


def test_a_count_drops_rows_of_hours_that_have_been_emitted() -> None:
    steps = [step(EWR="8:10 8:20"), step(EWR="9:15"), step(EWR="8:50 9:20"), step(EWR="11:00")]
    found = counted(steps, OneClock(TEN))
    assert found.counts == {(at("8:00"), TOGETHER): 2, (at("9:00"), TOGETHER): 2}
    assert found.out == {(at("8:00"), TOGETHER): at("9:00"), (at("9:00"), TOGETHER): at("10:00")}
    assert found.peak_state == 2
    assert lost(found, truth(steps)) == 2


def test_counts_that_the_end_of_the_day_emits_have_no_time() -> None:
    steps = [step(EWR="8:10")] * STEPS + [{"EWR": [THE_END]}]
    assert counted(steps, OneClock(TEN)).out == {(at("8:00"), TOGETHER): None}


def test_a_flight_of_a_join_waits_for_its_weather_as_long_as_the_watermarks_allow() -> None:
    flown = [step(LGA="10:20", JFK="10:25"), step(LGA="", JFK="11:20"), step(LGA="", JFK="12:20")]
    recorded = [
        step(LGA="", JFK="10:00"),
        step(LGA="", JFK="11:00"),
        step(LGA="10:00", JFK="12:00"),
    ]

    def found(clocks: OneWatermark | OfEachSide) -> list[Step]:
        return [*joined(flown, recorded, clocks).steps]

    at_once = {"EWR": [], "LGA": [], "JFK": [at("10:25")]}
    last = {"EWR": [], "LGA": [], "JFK": [at("12:20")]}
    both = OfEachSide(OneClock(TEN), Splits(TEN))
    assert found(both)[0] == at_once
    assert found(both)[2]["LGA"] == []
    patient = OneWatermark(Policy(min, {"flights": TEN, "weather": 2 * HOUR}))
    assert found(patient)[2] == {**last, "LGA": [at("10:20")]}
    # By one clock the weather of 10:00 is late at 12:00.
    assert found(OneWatermark(Policy(min, {"flights": TEN, "weather": TEN})))[2] == last
    every = all_joined(flown, recorded)
    assert sum(len(times) for step in every for times in step.values()) == 4


def test_a_join_hands_on_the_watermark_of_its_slower_side_and_stock_an_hour_less() -> None:
    flown, recorded = [step(JFK="12:30")], [step(JFK="12:00")]
    ours = OfEachSide(OneClock(TEN), OneClock(TEN))
    stock = OneWatermark(Policy(min, {"flights": TEN, "weather": TEN}))
    assert joined(flown, recorded, ours).watermarks == [at("11:50")]
    assert joined(flown, recorded, stock).watermarks == [at("10:50")]


def test_every_departure_of_the_day_arrives_once_also_over_a_link_that_was_down() -> None:
    def all_of(steps: list[Step]) -> Counter[tuple[str, datetime]]:
        return Counter((part, time) for step in steps for part in step for time in step[part])

    down, dead = all_of([*link_down(TODAY)]), all_of([*link_dead(TODAY)])
    within = [flight for flight in flights(TODAY) if at("8:00") <= flight.departure < at("19:00")]
    ends = dict.fromkeys([("EWR", THE_END), ("JFK", THE_END), ("LGA", THE_END)], 1)
    assert down == Counter((flight.origin, flight.departure) for flight in within) + Counter(ends)
    assert {part for part, time in (down - dead) if time < at("12:00")} == {"LGA"}
    assert not link_down(TODAY)[5]["LGA"]
    assert min(link_down(TODAY)[8]["LGA"]) < at("10:30")
    assert max(len(step["EWR"]) for step in stragglers(TODAY)) > 5


def test_an_airport_is_silent_since_the_step_of_its_last_file(tmp_path: Path) -> None:
    arrive(tmp_path, 3, step(EWR="9:50", LGA="9:55"))
    arrive(tmp_path, 4, step(EWR="10:10", LGA="", JFK=""))
    assert [newest_step(tmp_path / airport) for airport in ("EWR", "LGA", "JFK")] == [4, 3, -1]
    text = (tmp_path / "EWR" / "04.json").read_text(encoding="utf-8")
    assert text == '{"at": "2013-11-01T10:10:00", "origin": "EWR"}\n'


def test_waits_are_counted_from_the_end_of_each_hour_and_what_is_lost_has_none() -> None:
    given = Given(Rows([step(EWR="8:10 9:10 10:10")]), Counter())
    keys = [(at(clock), TOGETHER) for clock in ("8:00", "9:00", "10:00")]
    case = Case("", given._replace(counts=Counter(keys)), given, ())
    outcome = Outcome(Counter(keys[:2]), {keys[0]: at("9:30"), keys[1]: at("11:30")}, 7)
    found = figures(case, together.one_clock(SHORT), outcome)
    assert found == (1, 60.0, 90.0, 7, 0)
    assert cells(case, found) == ["1 of 3", "60 min", "90 min", "7", "0 of 0"]
    outcome.emit(keys[2], 1, STEPS)
    never = figures(case, together.one_clock(SHORT), outcome)
    assert (never.lost, never.longest, never.is_right) == (0, math.inf, False)
    assert cells(case, never)[2] == "never"


GOOD = Figures(0, 45.0, 150.0, 4, 0)


def test_the_advice_says_where_stock_spark_is_enough() -> None:
    assert advice({"stock, a": GOOD, "Tidemark, b": GOOD}) == [
        'You do not need Tidemark for this: "stock, a" loses nothing on either day, and waits no longer.'
    ]
    lossy = GOOD._replace(lost=1)
    assert advice({"stock, a": lossy, "Tidemark, b": lossy})[0].startswith("You do not need")


@pytest.mark.parametrize(
    ("stock", "says"),
    [
        (
            GOOD._replace(lost_next_day=3),
            "is enough if no lag is longer, and loses 3 rows the next",
        ),
        (GOOD._replace(median=90.0), "loses nothing on either day. Its median wait is 90 min; "),
        (GOOD._replace(longest=151.0), "loses nothing on either day. Its median wait is 45 min; "),
    ],
)
def test_the_advice_says_what_stock_spark_does_worse(stock: Figures, says: str) -> None:
    (sentence,) = advice({"stock, a": stock, "Tidemark, b": GOOD})
    assert sentence.startswith(f'"stock, a" {says}')
    assert sentence.endswith("Tidemark's is 45 min.")


def test_a_query_for_two_inputs_needs_a_way_that_is_right_for_both() -> None:
    bad = GOOD._replace(longest=math.inf)
    found = in_both({"stock, a": GOOD, "Tidemark, b": GOOD}, {"stock, a": bad, "Tidemark, b": GOOD})
    assert (
        found
        == 'A query that has to take both inputs is right by "Tidemark, b" (45 min and 45 min).'
    )


@pytest.fixture(scope="module")
def all_cases() -> list[Case]:
    return cases()


def test_a_delay_ten_minutes_shorter_would_lose_rows(all_cases: list[Case]) -> None:
    alone, behind, _, _, join = all_cases
    for case, minutes in ((alone, 240), (behind, 50)):
        shorter = together.one_clock(timedelta(minutes=minutes))
        assert lost(shorter.rule(case.today.rows), case.today.counts)
        longer = together.one_clock(timedelta(minutes=minutes + 10))
        assert longer.name in [way.name for way in case.ways]
        assert not lost(longer.rule(case.today.rows), case.today.counts)
    for minutes, way in ((60, after_join.one_query), (50, after_join.two_queries)):
        delay = timedelta(minutes=minutes)
        delayed = (
            way(70 * timedelta(minutes=1), delay) if way is after_join.two_queries else way(delay)
        )
        assert lost(delayed.rule(join.today.rows), join.today.counts)


def shown() -> dict[str, list[list[str]]]:
    """The rows of the example's tables, by the name of the way."""
    found: dict[str, list[list[str]]] = {}
    for cells_of in rows_of(TABLES):
        if len(cells_of) == 6 and re.search(r" of \d+$", cells_of[1]):
            found.setdefault(cells_of[0].replace("`", ""), []).append(cells_of[1:])
    return found


def rows_of(page: Path) -> list[list[str]]:
    """The cells of each line of a table."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]


def test_the_page_shows_rows_of_these_tables() -> None:
    measured = [(name, *row[:3], row[4]) for name, of_name in shown().items() for row in of_name]
    on_page = [tuple(row[1:]) for row in rows_of(PAGE) if re.search(r" of \d+$", row[-1])]
    assert len(on_page) > 10
    assert [row for row in on_page if row not in measured] == []


def test_the_tables_show_what_the_rules_say(all_cases: list[Case]) -> None:
    expected: dict[str, list[list[str]]] = {}
    for case in all_cases:
        for way in case.ways:
            row = cells(case, figures(case, way, way.rule(case.today.rows)))
            expected.setdefault(way.name, []).append(row)
    page = shown()
    for name, rows in expected.items():
        for row, of_page in zip(rows, page.pop(name), strict=True):
            assert row == of_page, name
    assert page == {}


@pytest.mark.example
@pytest.mark.timeout(900)
def test_each_way_does_what_its_rule_says_and_prints_what_the_tables_show() -> None:
    done = run_example("compare")
    # The example itself compares each count, its time and the state of counts with the rules in plain Python.
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    printed: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        name, *cells_of = re.split(r"  +", line)
        if len(cells_of) == 5 and " of " in cells_of[0]:
            printed.setdefault(name, []).append(cells_of)
    assert printed == shown()
    assert done.stdout.count("You do not need Tidemark for this") == 4
