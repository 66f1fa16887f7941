"""`docs/inside.md` names what exists: folders, packages, threads, and the classes of the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "inside.md").read_text(encoding="utf-8")
MAIN = ROOT / "jvm" / "src" / "main"
ENGINE = MAIN / "scala" / "org" / "apache" / "spark" / "sql" / "tidemark"
CORE = MAIN / "scala" / "io" / "tidemark" / "core"

SOURCES = {".scala", ".py", ".md"}
# They are Spark's or Scala's, and the page says so.
NOT_OURS = {"Long", "RemoveNoopOperators", "RemoveRedundantProjects"}


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    return str(found)


def sources(*folders: str) -> Iterator[str]:
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".scala", ".py"):
                yield file.read_text(encoding="utf-8")


def folders(parent: str) -> set[str]:
    """The folders in a folder that have sources, with their paths."""
    built = ("target", "dist", "out")
    found = [
        folder
        for folder in (ROOT / parent).iterdir()
        if folder.is_dir() and folder.name not in built
    ]
    return {
        folder.relative_to(ROOT).as_posix()
        for folder in found
        if folder.name[0] != "." and any(file.suffix in SOURCES for file in folder.rglob("*"))
    }


def test_the_list_of_folders_names_each_folder_and_no_other() -> None:
    tree = section("Where things are").rpartition("```text\n")[2].split("```")[0]
    listed: set[str] = set()
    for line in tree.splitlines():
        last = ""
        for entry in re.split(r"  +", line)[0].split(", "):
            # `jvm/src/main/spark-4.2+/, spark-4.1-/` are two folders side by side.
            path = entry if "/" in entry.rstrip("/") or not last else f"{last}/{entry}"
            listed.add(path.rstrip("/"))
            last = path.rstrip("/").rpartition("/")[0]
    assert [path for path in sorted(listed) if not (ROOT / path).exists()] == []
    there = set[str]().union(*map(folders, (".", "jvm/src", "jvm/src/main", "examples")))
    known = {path for folder in listed for path in (folder, *map(str, Path(folder).parents))}
    assert sorted(there - known) == []


def test_the_page_names_each_private_member_of_spark_that_is_reached() -> None:
    internals = (ENGINE / "stream" / "SparkInternals.scala").read_text(encoding="utf-8")
    fields = re.findall(r'getDeclaredField\("(\w+)"\)', internals)
    methods = re.findall(r'getDeclaredMethod\("(\w+)"\)', internals)
    assert (len(fields), len(methods)) == (4, 2)
    paragraph = PAGE.partition("**Four fields and two methods by reflection**")[2].partition(
        "\n\n"
    )[0]
    assert [name for name in (*fields, *methods) if f"`{name}`" not in paragraph] == []


def test_the_tables_of_packages_name_each_package() -> None:
    tables = section("Where things are").split("| package of `core` |")
    for table, top, prefix in ((tables[0], ENGINE, ""), (tables[1], CORE, "core.")):
        names = {folder.name for folder in top.iterdir() if folder.is_dir()}
        listed = set(re.findall(rf"^\| `{prefix}(\w+)` \|", table, flags=re.MULTILINE))
        assert listed - {"core"} == names


def test_the_table_of_threads_names_each_thread() -> None:
    made = r'(?:pool|newDaemonCachedThreadPool|Threads)\([^()]*?"(tidemark-[\w-]+)"'
    code = [*sources("jvm/src/main", "python")]
    named = {name for text in code for name in re.findall(made, text)}
    named |= {
        thread
        for text in code
        for thread in re.findall(r'name(?:_prefix)?=f?"(tidemark-[\w-]+)', text)
    }
    assert len(named) >= 6
    threads = set(re.findall(r"tidemark-[\w-]+", section("Threads")))
    assert {thread.rstrip("-") for thread in threads} == {thread.rstrip("-") for thread in named}


def test_the_classes_that_are_named_exist() -> None:
    code = "\n".join(sources("jvm/src", "python", "tests", "examples", "project"))
    there = set(re.findall(r"\b(?:class|object|trait|type|def|val) (\w+)", code))
    text = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    named = set(re.findall(r"`(?:[\w/]+/)?([A-Z][A-Za-z]+)(?:[.(][^`]*)?`", text))
    assert len(named) > 100
    assert sorted(named - there - NOT_OURS) == []
