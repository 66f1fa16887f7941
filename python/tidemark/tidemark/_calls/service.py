"""The client of a task: opened at its first row, and closed at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any


class Service:
    """What `service` of `map_async` returns, entered and left in one task of the loop, as some clients require."""

    def __init__(self, manager: Callable[[], Any] | None) -> None:
        """Opens nothing yet.

        Args:
            manager: What returns the context manager, async or not; None for no service.
        """
        self._manager = manager
        self._stack = AsyncExitStack()

    async def open(self) -> tuple[object, ...]:
        """What a call is given before its inputs."""
        if self._manager is None:
            return ()
        manager = self._manager()
        if hasattr(manager, "__aenter__"):
            return (await self._stack.enter_async_context(manager),)
        return (self._stack.enter_context(manager),)

    async def close(self, seconds: float) -> None:
        """Closes the client, and cancels that if it takes longer.

        Raises:
            TimeoutError: It was cancelled.
            BaseException: What the client raises.
        """
        loop, this = asyncio.get_running_loop(), asyncio.current_task()
        # In this task, which has opened it: `wait_for` would make another one.
        timer = loop.call_later(seconds, lambda: this and this.cancel())
        try:
            await self._stack.aclose()
        except asyncio.CancelledError as error:
            if loop.time() < timer.when():
                raise
            raise TimeoutError(f"not closed within {seconds:g} seconds") from error
        finally:
            timer.cancel()
