"""Calls in a fork of this process, as a server makes workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tidemark import TidemarkError


def code_in_fork(call: Callable[[], Any]) -> str:
    """The code of the error that a call raises in a fork; empty if it raises none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = "another exception"
        try:
            call()
            code = ""
        except TidemarkError as error:
            code = error.code
        finally:
            os.write(write, code.encode())
            # Nothing of the test's own process may run twice.
            os._exit(0)
    os.close(write)
    with open(read, "rb") as answer:
        code = answer.read().decode()
    os.waitpid(child, 0)
    return code
