"""Queries of other people's books, guides and examples, in our words, with inputs.

One file for each kind of query. `cases.py` says what a case is, `inputs.py` has what the cases read,
`side_by_side.py` runs one, and `page.py` writes the tables of README.md.
"""

from corpus import (  # noqa: F401 - each adds its cases
    deduplication,
    joins,
    maps,
    orders,
    reports,
    rest,
    running,
    sessions,
    several,
    sql,
    state,
    windows,
)
from corpus.cases import CASES, Case

__all__ = ["CASES", "Case"]
