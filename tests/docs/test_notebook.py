"""The notebook of the examples: it runs, and what is kept in it can be shown to anybody."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import Any

import pytest
from support.notebook import NOTEBOOK, ROOT, executed

MOST_BYTES = 1_000_000


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def pages(notebook: Any) -> list[str]:
    found = [
        output["data"].get("text/html", "") for output in outputs(notebook) if "data" in output
    ]
    return ["".join(page) for page in found if page]


def kept() -> Any:
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def test_the_notebook_can_be_read_without_running_it() -> None:
    notebook = kept()
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]
    assert any("<svg" in page for page in pages(notebook))
    shown = [output["data"] for output in outputs(notebook) if "data" in output]
    assert shown
    assert all("text/html" in data for data in shown)
    # An object that says nothing of itself.
    assert not [data for data in shown if "".join(data["text/plain"]).startswith("<tidemark")]


def test_the_notebook_has_no_paths_of_a_machine_and_no_huge_outputs() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert str(ROOT) not in text
    assert not re.findall(r"(?<![\w.])/(?:home|root|tmp|work|Users|dev)/\S*", text)


@pytest.mark.docs
@pytest.mark.skipif(
    importlib.util.find_spec("nbclient") is None, reason="`make test-docs` installs nbclient"
)
def test_every_cell_of_the_notebook_runs() -> None:
    notebook = executed()
    well, silent, *_ = pages(notebook)
    assert "Event time over processing time" in well
    assert "comes out:" not in well
    assert "Nothing more comes out:" in silent
    # An edge to the sink says that it is held.
    assert " holds</text>" in silent
