"""How the calls of a column are made, and what messages say of their inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tidemark._calls.errors import described

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_LONGEST_WAIT_SECONDS = 30.0
"""Waiting twice as long each time must not become waiting forever."""
_NOT_SHOWN: Final = "inputs that are not shown"


@dataclass(frozen=True)
class Rules:
    """How calls are made. Lengths of time are seconds.

    Attributes:
        column: The name of the new column, for messages.
        names: Those of the inputs, for messages.
        concurrency: How many calls may be in flight at one time.
        timeout: How long one call may take; None for as long as it does.
        retries: How often a call is made again.
        backoff: How long a row waits at most before its first retry. Each further wait is twice as
            long. Half of it is random, so that not all rows call again together.
        on_error: What a row gets whose last call failed, by the error and the inputs. None: an error.
        origin: Which `map_async` it is, the same in all of its tasks and in no other's.
        skips_nulls: Whether rows whose inputs are all null get a null without a call.
        shows_inputs: Whether errors, the log and the progress of a batch may have values of inputs.
        returns: The type of a result as Spark has it, which says more than Arrow's; None if it does not.
    """

    column: str
    names: Sequence[str]
    concurrency: int
    timeout: float | None
    retries: int
    backoff: float
    on_error: Callable[..., object] | None
    origin: str
    skips_nulls: bool
    shows_inputs: bool = True
    returns: DataType | None = None

    def described(self, inputs: Sequence[object]) -> str:
        """The inputs of a row for errors and the log."""
        return described(self.names, inputs) if self.shows_inputs else _NOT_SHOWN

    def slowest(self, inputs: Sequence[object]) -> str:
        """The inputs of a row for the progress of its batch, where an empty text says nothing of them."""
        return described(self.names, inputs) if self.shows_inputs else ""

    def wait_before_retry(self, attempts: int, chance: float) -> float:
        """For how many seconds a row waits that has been called so often.

        Args:
            attempts: How often it has been called.
            chance: A random number from 0 to 1.
        """
        longest = max(_LONGEST_WAIT_SECONDS, self.backoff)
        seconds = min(self.backoff * 2 ** min(attempts - 1, 32), longest)
        return float(seconds * (1 + chance) / 2)
