"""`build/phrases.py`, by which `make lint` finds phrases that readers have to read twice."""

from __future__ import annotations

import phrases


def test_a_phrase_is_found_over_the_end_of_a_commented_line() -> None:
    text = "val x = 1\n/** The operator goes\n  * by its column.\n  */\n// Nobody\n# knows\n"
    assert [(line, phrase) for line, phrase, _ in phrases.findings(text)] == [
        (2, "goes by"),
        (5, "Nobody"),
    ]


def test_plain_uses_of_the_same_words_pass() -> None:
    plain = (
        "there are three times as many; the one that is ahead; any moreover; go bypass; at oncell"
    )
    assert list(phrases.findings(plain)) == []
    assert [phrase for _, phrase, _ in phrases.findings("a split, one that ends")] == ["one that"]


def test_what_is_no_such_thing_is_found_in_sentences_and_in_names() -> None:
    text = "A claim is no mark. There is no mark. It is no longer open. def test_a_claim_is_no_mark"
    found = [phrase for _, phrase, _ in phrases.findings(text)]
    assert found == ["is no mark", "test_a_claim_is_no_mark"]
    assert list(phrases.findings("test_there_is_no_mark")) == []
