"""`explain`: what a streaming DataFrame waits for, and what is wrong with it, before it is started."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tidemark import _bridge
from tidemark._errors import TidemarkError, invalid_option
from tidemark._session.active import require_extension
from tidemark._shown import InWords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MODES = ("append", "update", "complete")


@dataclass(frozen=True)
class PlanFinding:
    """One thing that the plan of a query shows before the query starts.

    Attributes:
        code: A stable name, e.g. `"MARK_LOST"`. `docs/explain.md` lists them.
        severity: `"error"` (the query does not start), `"warning"` (state is kept forever, or rows
            are lost or wait) or `"info"` (worth knowing, and maybe just what you want).
        sentence: What is the case.
        fix: The text after "Fix this by".
        column: The event-time column that it is about, or None.
        operator: The operator that it is about, or None.
    """

    code: str
    severity: Literal["error", "warning", "info"]
    sentence: str
    fix: str
    column: str | None = None
    operator: str | None = None

    def __str__(self) -> str:
        return f"{self.severity:<8}{self.code}\n        {self.sentence} Fix this by {self.fix}."


@dataclass(frozen=True)
class PlanInput:
    """An input of an operator with state, and the watermarks that it waits for.

    Attributes:
        operator: The operator, e.g. `"aggregation #0"`.
        side: `"left"` or `"right"` of a join, else None.
        column: The event-time column by which rows are late there, or None.
        late_by: The keys of the inputs whose watermark decides which rows are late.
        waits_for: The keys of the inputs whose watermark state waits for before it leaves.
        even_idle: Those of them that hold this input back even while they are idle.
        after_ms: How far past a row's time the watermark is when the row leaves the state (ms).
            None if several inputs decide that together, or if it never leaves.
        keeps_forever: Whether rows of this input never leave the state.
    """

    operator: str
    side: str | None
    column: str | None
    late_by: tuple[str, ...]
    waits_for: tuple[str, ...]
    even_idle: tuple[str, ...]
    after_ms: int | None
    keeps_forever: bool


@dataclass(frozen=True, repr=False)
class Explanation(InWords):
    """What `explain` has found: print it, or read its fields.

    Attributes:
        text: All of it as text.
        operators: The inputs of all operators with state, those nearest to the sources first.
        findings: The findings, the worst ones first.
    """

    text: str
    operators: tuple[PlanInput, ...]
    findings: tuple[PlanFinding, ...]

    def __str__(self) -> str:
        return self.text


def explain(
    df: DataFrame,
    *,
    output_mode: Literal["append", "update", "complete"] = "append",
    trigger: Literal["availableNow"] | None = None,
) -> Explanation:
    """Says what a streaming DataFrame would wait for and what is wrong with it. Nothing is started.

    The DataFrame is planned as a query would be, and each operator's watermarks are computed by the
    engine's own rules. Every finding follows from the plan. The same findings, errors and warnings
    only, are logged when a query starts (`spark.tidemark.check`). Works on classic and Spark Connect
    alike. In SQL: `SELECT tidemark_explain('view', 'append')`, which returns JSON.

    Args:
        df: A streaming DataFrame, without its sink.
        output_mode: The output mode that it will be written in.
        trigger: `"availableNow"`, if the query will have that trigger.

    Returns:
        The operators, whom they wait for, and the findings.

    Raises:
        TidemarkError: `NOT_STREAMING`, `INVALID_OPTION`; when the extension is not active in the
            session, as for `with_watermark`.

    Example:
        >>> print(tidemark.explain(joined))  # doctest: +SKIP
    """
    if not getattr(df, "isStreaming", False):
        raise TidemarkError(
            "NOT_STREAMING",
            f"{df!r} is not a streaming DataFrame, so no watermark is used in it",
            "passing what readStream reads, or what is made of it",
            view=df,
        )
    if output_mode not in _MODES:
        raise invalid_option("output_mode", output_mode, "append, update or complete")
    if trigger not in (None, "availableNow"):
        raise invalid_option("trigger", trigger, "availableNow, or None")
    require_extension(df.sparkSession)
    return _of(json.loads(_bridge.explain_json(df, output_mode, trigger)))


def _of(data: dict[str, Any]) -> Explanation:
    lists = ("late_by", "waits_for", "even_idle")
    operators = [
        {**operator, **{key: tuple(operator[key]) for key in lists}}
        for operator in data["operators"]
    ]
    return Explanation(
        data["text"],
        tuple(PlanInput(**operator) for operator in operators),
        tuple(PlanFinding(**finding) for finding in data["findings"]),
    )
