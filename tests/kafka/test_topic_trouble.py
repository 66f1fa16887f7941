"""What goes wrong with marks in a topic: each is survived or refused by name, and no row is lost."""

from __future__ import annotations

from typing import Any

import pytest
from support.processes import run_script

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_script("topic_trouble.py", str(tmp_path_factory.mktemp("trouble")))


def test_a_query_waits_for_a_topic_that_comes_later(found: dict[str, Any]) -> None:
    assert found["a_topic_that_comes_later"] == [[], [[0, 60]]]


def test_streams_in_one_topic_do_not_mix_though_their_writers_have_one_name(
    found: dict[str, Any],
) -> None:
    assert found["two_streams_in_one_topic"] == [[[[0, 60]], []], [[0, 60]]]


def test_records_that_cannot_be_used_are_counted_and_hold_nothing(found: dict[str, Any]) -> None:
    skipped, reasons, notes = found["records_that_cannot_be_used"]
    assert skipped == {"json": 2, "key": 1, "version": 1}
    assert reasons == ["json", "json", "key", "version"]
    assert notes == 1


def test_a_query_notes_on_in_a_topic_that_is_made_anew_and_a_second_life_begins_there(
    found: dict[str, Any],
) -> None:
    assert found["a_topic_that_is_made_anew"] == 2


def test_the_later_of_two_queries_with_one_name_fences_off_the_earlier_one(
    found: dict[str, Any],
) -> None:
    code, patient_said_no_more = found["two_queries_of_one_name"]
    assert code == "MARK_NOT_WRITTEN"
    assert patient_said_no_more


def test_a_query_notes_in_a_compacted_topic_and_a_python_writer_refuses_it(
    found: dict[str, Any],
) -> None:
    assert found["a_compacted_topic"] == "MARK_NOT_WRITTEN"


def test_wrong_locations_and_options_are_refused_by_name(found: dict[str, Any]) -> None:
    assert found["what_is_refused"] == ["NO_MARK_LOG"] * 2 + ["INVALID_NOTE_TIME"] * 4
