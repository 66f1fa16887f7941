"""The command line, `python -m tidemark`, and `check`, which only it has."""

from __future__ import annotations
