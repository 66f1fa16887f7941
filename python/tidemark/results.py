"""What Tidemark's functions return, so that a program can name it: reports, findings, drawings."""

from __future__ import annotations

from tidemark._correct import Correction
from tidemark._doctor import Diagnosis, Finding
from tidemark._explain import Explanation, PlanFinding, PlanInput
from tidemark._late import LateRows
from tidemark._offsets import SourceOffsets
from tidemark._plot import Plot
from tidemark._report import Report

__all__ = [
    "Correction",
    "Diagnosis",
    "Explanation",
    "Finding",
    "LateRows",
    "PlanFinding",
    "PlanInput",
    "Plot",
    "Report",
    "SourceOffsets",
]
