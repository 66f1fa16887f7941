"""The parts of the silent-input example that need no Spark."""

from __future__ import annotations

from silence import measure, outcome, promise, rules, steps, table

__all__ = ["measure", "outcome", "promise", "rules", "steps", "table"]
