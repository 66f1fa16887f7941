"""What may not grow without a decision: `budgets.json`. A change that needs more says why in docs/adr."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tidemark

ROOT = Path(__file__).parents[2]
BUDGETS: dict[str, Any] = json.loads((ROOT / "budgets.json").read_text())
CODE = [
    file
    for folder in (
        "jvm/src/main",
        "python/tidemark/tidemark",
        "python/tidemark-marks/tidemark_marks",
    )
    for file in (ROOT / folder).rglob("*")
    if file.suffix in (".py", ".scala")
]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", BUDGETS["lines"])
def test_a_part_has_at_most_its_lines(folder: str) -> None:
    files = [file for file in CODE if file.is_relative_to(ROOT / folder)]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert 0 < lines <= BUDGETS["lines"][folder]


def test_no_file_is_larger_than_a_reader_can_hold() -> None:
    larger = BUDGETS["larger files"]
    sizes = {file.relative_to(ROOT).as_posix(): file.stat().st_size for file in CODE}
    most = {name: larger.get(name, BUDGETS["bytes of a file"]) for name in sizes}
    assert {name: size for name, size in sizes.items() if size > most[name]} == {}
    # A file that was divided needs no exception.
    assert {name for name in larger if sizes.get(name, 0) <= BUDGETS["bytes of a file"]} == set()


def test_settings_codes_and_public_names_are_few() -> None:
    settings = re.findall(r"^\| `spark\.tidemark\.", read("docs/settings.md"), re.MULTILINE)
    codes = re.findall(r"^### [A-Z_]+$", read("docs/errors.md"), re.MULTILINE)
    assert 0 < len(settings) <= BUDGETS["settings"]
    assert 0 < len(codes) <= BUDGETS["error codes"]
    assert len(tidemark.__all__) <= BUDGETS["public names"]


def test_the_documentation_can_be_read() -> None:
    words = sum(
        len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").rglob("*.md")
    )
    assert 0 < words <= BUDGETS["words of documentation"]
