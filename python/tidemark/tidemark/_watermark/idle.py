"""`Idle`: after how long an input or a split is idle, and what happens then."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, get_args

from tidemark._errors import invalid_option

OnReturn = Literal["hold", "catch_up"]
WhenAll = Literal["hold", "rise", "advance"]
AtJoin = Literal["hold", "follow"]


@dataclass(frozen=True)
class Idle:
    """When an input, or a split of it, is idle, and what its watermark does then.

    The long form of `with_watermark(..., idle_after="1 minute")`. What is left out, or None, is as
    the session's setting says: `spark.tidemark.idle.after`, `idle.onReturn`, `idle.whenAll` and
    `idle.atJoin`.

    Attributes:
        after: A split is idle when it has had no rows for this long while other splits had some,
            and no rows of it wait to be read. An input is idle when it has had none for this long.
            Wall-clock time, as Spark's interval text (`"1 minute"`) or a `timedelta`; a
            millisecond or more. A month has 31 days, as in a watermark's delay. `"none"`: nothing
            is ever idle, whatever the session's setting.
        on_return: What happens when an idle split has rows again and is behind the watermark.
            `"hold"`: the watermark waits until the split has caught up. `"catch_up"`: the split is
            left out until then.
        when_all: What happens when the whole input has no rows. `"hold"`: its splits and its
            watermark stay as they are, so that a pause makes no row late by that watermark.
            `"rise"`: all splits become idle, and the watermark advances to the largest clock.
            `"advance"`: after that it follows the wall clock, less the delay.
        at_join: What a stream-stream join does while this input is idle. `"hold"`: it waits.
            `"follow"`: this input counts as far along as the other side.

    Raises:
        TidemarkError: `INVALID_OPTION` when it is made, for a choice that is none of the above.
            Spark reads `after` in `with_watermark`.

    Example:
        >>> Idle(after="1 minute", when_all="rise")
        Idle(after='1 minute', on_return=None, when_all='rise', at_join=None)
    """

    after: str | timedelta | None = None
    on_return: OnReturn | None = field(default=None, kw_only=True)
    when_all: WhenAll | None = field(default=None, kw_only=True)
    at_join: AtJoin | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for option, choices in (
            ("on_return", OnReturn),
            ("when_all", WhenAll),
            ("at_join", AtJoin),
        ):
            value, allowed = getattr(self, option), get_args(choices)
            if value is not None and value not in allowed:
                raise invalid_option(option, value, allowed)
