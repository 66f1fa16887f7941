"""The code blocks on the pages of the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))

# A block in a list is indented. The comment marks a block that a test cannot run.
_BLOCK = re.compile(
    r"(<!-- compiled, not run -->\n)?^( *)```([a-z]+)\n(.*?)^\2```$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A code block: its language, its text, and whether a test can run it."""

    kind: str
    text: str
    runs: bool


def blocks(page: Path, *kinds: str) -> list[Block]:
    """The blocks of a page in these languages, or all of its blocks, from the first to the last."""
    found = _blocks(page.read_text(encoding="utf-8"))
    return [block for block in found if not kinds or block.kind in kinds]


def section(page: Path, title: str) -> list[Block]:
    """The blocks below a heading of the second level."""
    text = page.read_text(encoding="utf-8")
    return _blocks(text.split(f"\n## {title}\n")[1].split("\n## ")[0])


def _blocks(text: str) -> list[Block]:
    return [
        Block(kind, dedent(code), not skipped) for skipped, _, kind, code in _BLOCK.findall(text)
    ]


def name_of(page: Path) -> str:
    """The name of a page in test IDs."""
    return str(page.relative_to(ROOT))
