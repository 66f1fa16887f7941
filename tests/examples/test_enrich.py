"""`make enrich`: a service that is slow, fails and refuses by a plan, and several ways of asking it."""

from __future__ import annotations

import asyncio
import re
import threading
import time

import pytest
from support.processes import EXAMPLES, run_example

from enrich import clients, flights, service
from enrich.plan import Plan, gate_of

FAST = Plan(seconds=0, slow_seconds=0.001, one_slow_of=10, one_failing_of=10)


def test_the_plan_is_the_same_for_everybody_and_has_its_shares() -> None:
    plan = Plan()
    answers = [plan.answer(flight, 1) for flight in range(20_000)]
    assert answers == [Plan().answer(flight, 1) for flight in range(20_000)]
    assert answers != [Plan(seed=2).answer(flight, 1) for flight in range(20_000)]
    slow = sum(answer.seconds == plan.slow_seconds for answer in answers)
    failing = sum(answer.status == 500 for answer in answers)
    assert 10 < slow < 30
    assert 70 < failing < 130


def test_both_clients_get_every_gate_and_the_service_counts_their_calls() -> None:
    numbers, aircraft = range(100), [f"N{n % 50}" for n in range(100)]
    expected = list(map(gate_of, numbers))
    with service.running(FAST) as address:
        assert list(map(clients.ask, [address] * 100, numbers, aircraft)) == expected
        one_by_one = service.counts(address)
    assert (one_by_one.most_in_flight, one_by_one.most_of_an_aircraft) == (1, 1)
    assert one_by_one.calls == 100 + one_by_one.failed > 105
    with service.running(FAST) as address:
        found = asyncio.run(clients.gathered(address, numbers, aircraft, at_most=16))
        together = service.counts(address)
    assert found == expected
    # The same calls have failed, because each flight has its own plan.
    assert (together.calls, together.failed) == (one_by_one.calls, one_by_one.failed)
    assert 1 < together.most_in_flight <= 16
    assert max(together.in_flight) == together.most_in_flight


def test_the_service_refuses_calls_above_its_limit() -> None:
    with service.running(Plan(limit=1, seconds=0.2, one_slow_of=2**20)) as address:
        asking = threading.Thread(target=clients.ask, args=(address, 1, "N1"))
        asking.start()
        while not service.counts(address).calls:
            time.sleep(0.001)
        with pytest.raises(clients.ServiceError, match="429"):
            clients._ask_once(address, 2, "N1")
        asking.join()
        counts = service.counts(address)
    assert (counts.refused, counts.most_in_flight, counts.most_of_an_aircraft) == (1, 2, 2)


def test_departures_of_a_day_are_in_order_and_each_is_counted() -> None:
    all_ = flights.departures(days=1)
    assert len(all_) > 900
    assert [flight.departure for flight in all_] == sorted(flight.departure for flight in all_)
    assert sum(flights.truth(all_).values()) == len(all_)


@pytest.mark.example
@pytest.mark.timeout(600)
def test_map_async_loses_no_row_and_has_no_more_calls_in_flight_than_it_may() -> None:
    done = run_example("enrich")
    # The example itself compares every window with the truth.
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    cells = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
    by_name = {line[0]: line[1:] for line in cells if len(line) == 11}
    assert by_name["mapInPandas, gather by 16"][-1] == "refused"
    assert by_name["pandas UDF, gather"][4] != "0"
    for name in "map_async, 16", "map_async, 16, key=":
        assert by_name[name][-3:] == ["no", "0", "emitted"]
    assert (EXAMPLES.parent / "out" / "enrich" / "in-flight.svg").exists()
