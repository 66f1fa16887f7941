"""Runs the docstring examples of the installed package and of `examples/`."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import tidemark


def modules(package: ModuleType) -> list[str]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    # Importing a __main__ module would run its program.
    names = [module.name for module in found if not module.name.endswith(".__main__")]
    return [package.__name__, *names]


EXAMPLES = ("common", "flights_weather", "backlog", "kafka_broker", "pipeline", "silence")
MODULES = [
    *modules(tidemark),
    *(name for package in EXAMPLES for name in modules(importlib.import_module(package))),
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_docstring_examples_are_not_skipped() -> None:
    found = {}
    for name in MODULES:
        tests = doctest.DocTestFinder().find(importlib.import_module(name))
        run = [e for t in tests for e in t.examples if not e.options.get(doctest.SKIP)]
        if run:
            found[name] = len(run)
    assert {"tidemark._errors", "flights_weather.clock", "backlog.quota"} <= found.keys()
