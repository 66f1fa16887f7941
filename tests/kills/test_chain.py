"""What the writers of a killed chain send, and what must come out of it, by hand."""

from __future__ import annotations

import pytest

from kills import chain_rows
from kills.chain_rows import BEGIN, FIRST, IDS, SECOND, WRITERS


@pytest.mark.parametrize("writer", WRITERS)
def test_no_row_of_a_later_piece_is_at_or_before_a_noted_time(writer: str) -> None:
    for piece in range(40):
        noted = chain_rows.noted(writer, piece)
        assert chain_rows.piece_of(writer, noted) == piece
        for later in range(piece + 1, piece + 5):
            assert all(row.at > noted for row in chain_rows.rows(1, writer, later))


def test_each_row_has_a_number_of_its_own_and_is_the_same_of_the_same_seed() -> None:
    sent = [
        row for name in WRITERS for piece in range(30) for row in chain_rows.rows(1, name, piece)
    ]
    assert len({row.number for row in sent}) == len(sent)
    assert {row.id for row in sent} == set(range(IDS))
    assert chain_rows.rows(1, "eu", 7) == chain_rows.rows(1, "eu", 7)
    assert chain_rows.rows(1, "eu", 7) != chain_rows.rows(2, "eu", 7)


def test_rows_are_counted_in_the_window_that_the_end_of_their_own_window_is_in() -> None:
    counts = chain_rows.expected(1, {"eu": 6, "us": 0})
    sent = [row for piece in range(6) for row in chain_rows.rows(1, "eu", piece)]
    assert counts.total() == len(sent)
    for start, id in counts:
        ends = [row.at // FIRST * FIRST + FIRST for row in sent if row.id == id]
        assert counts[start, id] == sum(start <= end < start + SECOND for end in ends)
        assert start % SECOND == 0
    assert BEGIN % FIRST == 0
