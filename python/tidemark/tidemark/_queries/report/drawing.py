"""How the engine draws a report, and what is shown where it cannot."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

from tidemark import _bridge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = "tidemark_html"
HISTORY = "tidemark_svg"


def drawn(data: dict[str, Any], function: str, session: SparkSession | None) -> str | None:
    """What the engine draws: any session with the extension can, as it is asked for no query.

    Args:
        data: The data of a report.
        function: `PAGE` or `HISTORY`.
        session: The session that the report is from.

    Returns:
        Markup; None if no session can draw, because none is left or its jar is an older one.
    """
    able = session if session is not None else _bridge.running_session()
    if able is None:
        return None
    try:
        return _bridge.drawn(able, function, json.dumps(data))
    except Exception:  # noqa: BLE001
        # A notebook calls this by itself whenever it shows the report, also after the session was
        # stopped. Then the text is what is left.
        return None


def within_a_page(svg: str) -> str:
    """A drawing as a part of a page, whose colours it takes: those of a file do not suit a dark one.

    Args:
        svg: What `drawn` returns for `HISTORY`: a file, which has colours of its own.
    """
    return re.sub(r'^(<svg\b[^>]*?) style="[^"]*"', r"\1", svg)


class InWords:
    """What people read: a cell of a notebook and a prompt show it as `print` does."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return in_words(str(self))


def in_words(text: str) -> str:
    """A text as HTML, where there is no drawing."""
    return f"<pre>{html.escape(text)}</pre>"
