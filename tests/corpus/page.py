"""The part of README.md beside it that is made from the cases; `make golden` writes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from corpus import CASES, Case
from corpus.cases import SOURCES

PAGE = Path(__file__).with_name("README.md")
BEGIN = "<!-- corpus: `make golden` writes this part -->\n"
END = "<!-- /corpus -->"

# In the order of Spark's guide.
KINDS = {
    "windows": "Windows",
    "sessions": "Sessions",
    "running": "Running aggregations",
    "deduplication": "Deduplication",
    "joins": "Joins",
    "several": "Unions and several watermarks",
    "maps": "Functions in Python, structs and arrays",
    "state": "Stateful functions",
    "orders": "Rows in order",
    "sql": "SQL",
    "rest": "Sinks and triggers",
    "reports": "Public reports, one by one",
}

# The parts of the last of them.
SUBJECTS = {
    "reports.times": "Late rows, delays and times",
    "reports.windows": "Windows, sessions and deduplication",
    "reports.joins": "Joins of two streams",
    "reports.functions": "Functions with state",
    "reports.restarts": "Restarts and triggers",
    "reports.splits": "Parts of an input, and wrong times",
    "reports.several": "Several inputs, silence and order",
    "reports.first": "Of the reports that were tried first",
}


def written() -> str:
    """Numbers first, then what differs, then a table for each kind."""
    differ = [case for case in CASES if case.differs]
    lines = [
        f"{len(CASES)} queries: {len(CASES) - len(differ)} as stock, {len(differ)} that differ on purpose.",
        "",
        "| from | what it is | queries |",
        "|---|---|---|",
    ]
    numbers = Counter(case.source for case in CASES)
    lines += [f"| {source} | {what} | {numbers[source]} |" for source, what in SOURCES.items()]
    for kind, title in KINDS.items():
        lines += ["", f"### {title}", ""]
        if kind == "reports":
            lines += by_subject()
        else:
            lines += ["| query | from | mode | with Tidemark |", "|---|---|---|---|"]
            lines += [row(case) for case in CASES if case.kind == kind]
    return "\n".join(lines) + "\n"


def by_subject() -> list[str]:
    lines = []
    for subject, title in SUBJECTS.items():
        found = [case for case in CASES if case.subject == subject]
        lines += [f"#### {title}", ""]
        lines += ["| situation | report | stock Spark | with Tidemark |", "|---|---|---|---|"]
        lines += [reported(case) for case in found] + [""]
    return lines[:-1]


def row(case: Case) -> str:
    mode = case.mode if case.since == "4.0" else f"{case.mode}, from Spark {case.since} on"
    return f"| {case.says} | {case.source} | {mode} | {result(case)} |"


def reported(case: Case) -> str:
    newer = "" if case.since == "4.0" else f", from Spark {case.since} on"
    return f"| {case.says}{newer} | {link(case.report)} | {case.stock} | {result(case)} |"


def link(address: str) -> str:
    """A thread by its repository and number, any other page by its site."""
    if not address:
        return "one of the first"
    site, *path = address.split("/")[2:]
    name = f"{path[0]}/{path[1]}#{path[3]}" if site == "github.com" else site.removeprefix("www.")
    return f"[{name}]({address})"


def result(case: Case) -> str:
    if not case.differs:
        return "refused, as stock" if case.refused else "as stock"
    if case.refused:
        return f"runs, where stock refuses: {case.differs}"
    how = "the same rows in other batches" if case.same_rows else "other rows"
    return f"{how}: {case.differs}"


def split(text: str) -> tuple[str, str, str]:
    before, _, rest = text.partition(BEGIN)
    made, _, after = rest.partition(END)
    return before, made, after


if __name__ == "__main__":
    before, _, after = split(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(before + BEGIN + written() + END + after, encoding="utf-8")
