"""The pure pieces of the example in which an input falls silent."""

from __future__ import annotations

from silence import measure, outcome, promise, rules, steps, table

__all__ = ["measure", "outcome", "promise", "rules", "steps", "table"]
