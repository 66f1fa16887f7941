"""The names that the pages use exist: functions of Python and SQL, settings; and each function has a page."""

from __future__ import annotations

import re
from pathlib import Path

import tidemark

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "python").glob("*/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "tests" / "corpus" / "README.md",
]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
README = TEXTS["README.md"]
PACKAGE = TEXTS["python/tidemark/README.md"]

# Names that begin like a function of SQL: the metrics in a query's progress, and the field that brings some of them.
METRICS = {"tidemark_late_rows", "tidemark_calls", "tidemark_calls_"}
# The package and its public modules, with what each offers.
MODULES = {
    "": tidemark,
    **{name: getattr(tidemark, name) for name in ("errors", "jars", "marks", "results")},
}
OFFERED = {
    f"{module}.{name}".lstrip(".")
    for module, offered in MODULES.items()
    for name in offered.__all__
}


def scala() -> str:
    files = sorted((ROOT / "jvm" / "src" / "main").rglob("*.scala"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


SCALA = scala()


def sql_functions() -> set[str]:
    """The names of the functions that the extension adds to a session."""
    found = set(re.findall(r'"(tidemark_\w+)"', SCALA)) - METRICS
    return found | {name for name in ("current_watermark", "is_late") if f'"{name}"' in SCALA}


def unknown(pattern: str, known: set[str]) -> list[str]:
    """What the pages name and does not exist, with the page."""
    return [
        f"{page}: {name}"
        for page, text in TEXTS.items()
        for name in sorted(set(re.findall(pattern, text)))
        if name not in known
    ]


def test_the_pages_name_functions_of_sql_that_exist() -> None:
    injected = re.findall(r"extensions\.inject(?:Table)?Function\(", SCALA)
    assert len(sql_functions()) == len(injected)
    assert unknown(r"\b(tidemark_\w+)(?=\()", sql_functions()) == []


def test_a_page_lists_every_function_of_sql() -> None:
    listed = TEXTS["docs/sql.md"].split("## Functions in SQL")[1].split("\n## ")[0]
    assert sorted(name for name in sql_functions() if name not in listed) == []


def test_the_pages_name_parts_of_the_python_package_that_exist() -> None:
    known = OFFERED | MODULES.keys() | {"example"}
    named = r"(?<![\w.:/-])tidemark\.((?:(?:errors|jars|marks|results)\.)?[A-Za-z_]\w*)"
    assert unknown(named + r"(?=[(`,. \n)])", known) == []


def test_the_readme_of_the_package_lists_every_call() -> None:
    table = PACKAGE.split("| call | what it does |")[1].split("\n\n")[0]
    calls = "".join(re.findall(r"^\| (.*?) \|", table, flags=re.MULTILINE))
    names = set(re.findall(r"`([\w.]+)[(`]", calls))
    # `Default` is an argument of one of them, and the reference has it.
    assert set(tidemark.__all__) - names == {"__version__", "Default"}
    assert names - OFFERED == set()


def test_the_pages_name_settings_that_exist() -> None:
    settings = set(re.findall(r"^\| `(spark\.tidemark\.[\w.]+)`", TEXTS["docs/settings.md"], re.M))
    assert len(settings) > 10
    assert settings <= set(re.findall(r'"(spark\.tidemark\.[\w.]+)"', SCALA))
    assert unknown(r"(spark\.tidemark\.\w+(?:\.\w+)*)", settings) == []
