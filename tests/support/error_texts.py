"""The sentences of the errors that Python builds, as the code has them: `golden/errors.txt`.

`make golden` writes that file again. What an error is about stands in braces, as in `{column!r}`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "errors.txt"
PACKAGES = Path(__file__).parents[2] / "python"


def texts() -> str:
    """Each code with its sentences, and the way out of each, in the order of the codes."""
    return "\n".join(sorted(set(_texts()))) + "\n"


def _texts() -> Iterator[str]:
    for file in sorted(PACKAGES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called, given = ast.unparse(node.func), node.args
            if called == "TidemarkError":
                code = ast.literal_eval(given[0])
                yield f"{code}: {_text(given[1])}. Fix this by {_text(given[2])}."
            elif called == "invalid_option":
                fix = f" Fix this by {_text(given[3])}." if len(given) > 3 else ""
                option, value = _text(given[0]), _expression(given[1])
                yield f"INVALID_OPTION: {option} is {{{value}!r}}, but it must be {_text(given[2])}.{fix}"


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        shown = "!r" if node.conversion == ord("r") else ""
        return f"{{{_expression(node.value)}{shown}}}"
    return f"{{{_expression(node)}}}"


def _expression(node: ast.expr) -> str:
    # Versions of Python write the quotes of an expression differently.
    text = ast.unparse(node)
    return "..." if "'" in text or '"' in text else text


if __name__ == "__main__":
    GOLDEN.write_text(texts(), encoding="utf-8")
