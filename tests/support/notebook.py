"""Runs examples/notebook.ipynb, as a reader would: all cells in order, in a new kernel.

    PYTHONPATH=tests .venv/bin/python -m support.notebook

writes its outputs into the file. They are kept, so that the notebook can be read without being run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


def executed(patience_seconds: int = 240) -> Any:
    """The notebook with the outputs of this machine.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, timeout=patience_seconds, resources=where).execute()
    for cell in notebook.cells:
        cell.metadata.clear()
        # What Spark's JVM says of itself has names and paths of this machine.
        kept = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
        if cell.cell_type == "code":
            cell.outputs = kept
    return notebook


def main() -> None:
    import nbformat

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    nbformat.write(executed(), NOTEBOOK)


if __name__ == "__main__":
    main()
