"""The two engines that every example compares."""

from __future__ import annotations

from typing import Literal, get_args

Engine = Literal["stock", "tidemark"]
ENGINES: tuple[Engine, ...] = ("stock", "tidemark")

NAMES: dict[Engine, str] = {"stock": "stock", "tidemark": "Tidemark"}
"""How people know them."""


def engine_of(text: str) -> Engine:
    """An engine as it is named on a command line.

    >>> engine_of("stock")
    'stock'
    """
    named: dict[str, Engine] = {engine: engine for engine in get_args(Engine)}
    return named[text]
