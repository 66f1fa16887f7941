"""Where an example leaves what it makes: ``out/NAME`` in the checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def out_folder(name: str) -> Path:
    """Makes the folder, unless it is there; returns it."""
    folder = ROOT / "out" / name
    folder.mkdir(parents=True, exist_ok=True)
    # Nothing in here is for git, and git need not be told anywhere else.
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder
