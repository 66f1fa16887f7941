"""What Tidemark's functions return, so that a program can name it: reports, findings, drawings."""

from __future__ import annotations

from tidemark._queries.correct import Correction
from tidemark._queries.explain import Explanation, PlanFinding, PlanInput
from tidemark._queries.late import LateRows
from tidemark._queries.offsets import SourceOffsets
from tidemark._queries.plot import Plot
from tidemark._queries.report import Report
from tidemark._queries.report_data import ReportData
from tidemark._session.doctor import Diagnosis, Finding

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
    "ReportData",
    "SourceOffsets",
]
