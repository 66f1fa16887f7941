"""Finds phrases that readers have to read twice, in code, tests and docs, and says what to write instead.

Usage: python build/phrases.py [FILE...]; without files, all that git knows. Exits with 1 if it finds one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# The phrase, and what says the same in the words of Spark's own documentation.
PHRASES: dict[str, str] = {
    r"(?:go|goes|going|went) by": "use, follow or read; an operator uses a column",
    r"(?:is|are|was|were) there": "exists, has arrived, or name the place",
    r"(?<=[.;:,(] )one that": "repeat the noun: a split that, an input that",
    r"(?<!times )(?<!twice )(?<!half )as (?:many|much)": "name the number, or: the same number as",
    r"whoever": "name the reader, writer, thread or user",
    r"anew": "again, or from the start",
    r"any more": "no longer",
    r"by then": "before, already, or name the moment",
    r"at once": "immediately, or: at the same time",
    r"nobody": "name who does not, or: it is unknown",
    r"\w*[a-z]Nobody\w*": "name who does not, or: it is unknown",
    # Comparatives are English: no later than.
    r"(?<!there )(?:is|are|was|were) no (?!(?:\w+er|more|less)\b|further)[a-z]+": "is not a ...",
    r"(?!\w*there_)\w*_(?:is|are|was|were)_no_(?!longer|more|later|earlier|less)\w+": "is_not_a_...",
}
# Pages whose words are not the project's own.
OTHERS = (
    "LICENSE",
    "docs/pictures/",
    "build/phrases.py",
    "tests/docs/test_phrases.py",
    "tests/checkpoints/",
)
KINDS = (".py", ".scala", ".md", ".sbt", ".txt", ".yml", ".toml", ".ipynb", ".sql", "Makefile")

_PHRASE = re.compile(
    "|".join(rf"(?P<p{n}>\b{phrase}\b)" for n, phrase in enumerate(PHRASES)), re.IGNORECASE
)
# What a comment's or a text's next line begins with.
_BREAK = re.compile(r"\n[ \t]*(?:\*(?!/)|//|#|\|)?[ \t]*")


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """The line, the phrase and what to write instead, of each phrase; one may go over the end of a line."""
    breaks: list[tuple[int, int]] = []
    flat, last, lines = "", 0, 1
    for found in _BREAK.finditer(text):
        flat += text[last : found.start()] + " "
        lines += 1
        breaks.append((len(flat), lines))
        last = found.end()
    flat += text[last:]
    hints = list(PHRASES.values())
    for found in _PHRASE.finditer(flat):
        line = max((number for start, number in breaks if start <= found.start()), default=1)
        yield line, found.group(), hints[int((found.lastgroup or "p0")[1:])]


def tracked() -> list[str]:
    names = subprocess.run(
        ["git", "ls-files"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    # A page that was removed is listed until that is committed.
    return [
        name
        for name in names
        if name.endswith(KINDS) and not name.startswith(OTHERS) and Path(name).is_file()
    ]


def main(names: list[str]) -> int:
    count = 0
    for name in names or tracked():
        for line, phrase, hint in findings(Path(name).read_text(encoding="utf-8")):
            print(f"{name}:{line}: `{phrase}`: {hint}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
