"""The sentences of errors, in one file to read them in. Other tests look at codes and parameters only."""

from __future__ import annotations

from support.error_texts import GOLDEN, texts


def test_the_sentences_of_errors_are_those_of_the_golden_file() -> None:
    assert texts() == GOLDEN.read_text(encoding="utf-8")
