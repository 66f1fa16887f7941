"""What Spark is going to be started with, from everywhere a user can say it.

A comma-separated setting is replaced as a whole by the last place that sets it, so code that appends
to one must know its earlier value. Spark's own precedence, checked on 4.3: `--jars` in
`PYSPARK_SUBMIT_ARGS` beats every `--conf`, a later `--conf` beats an earlier one (the builder's come
first), and both beat `spark-defaults.conf`.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import pairwise
from pathlib import Path

from tidemark import _bridge

SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"


def split(value: str | None) -> list[str]:
    """The parts of a comma-separated setting, without blanks."""
    return [part.strip() for part in (value or "").split(",") if part.strip()]


def join(*lists: list[str]) -> str:
    """Lists put together in order, each part once."""
    return ",".join(dict.fromkeys(part for parts in lists for part in parts))


def submit_jars() -> list[str]:
    """The jars `PYSPARK_SUBMIT_ARGS` names, as `--jars` or as `--conf spark.jars=`."""
    words = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    return [
        jar for at in _jar_words(words) for jar in split(words[at].rpartition("spark.jars=")[2])
    ]


def submit_conf(key: str) -> str | None:
    """The last `--conf key=value` in `PYSPARK_SUBMIT_ARGS`."""
    words = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    found = None
    for word, value in pairwise(words):
        if word in ("--conf", "-c") and value.startswith(f"{key}="):
            found = value.partition("=")[2]
    return found


def append_to_submit_jars(jar: str) -> None:
    """Adds a jar wherever `PYSPARK_SUBMIT_ARGS` names jars; leaves it alone where it names none.

    What it names would otherwise win over the builder's `spark.jars`, and the driver would start
    without our jar.
    """
    words = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    places = _jar_words(words)
    for at in places:
        head, key, jars = words[at].rpartition("spark.jars=")
        words[at] = head + key + join(split(jars), [jar])
    if places:
        os.environ[SUBMIT_ARGS] = shlex.join(words)


def default(key: str) -> str | None:
    """A setting of `spark-defaults.conf`, or of the `--properties-file` that stands in for it."""
    words = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    if "--properties-file" in words[:-1]:
        path = Path(words[words.index("--properties-file") + 1])
    else:
        folder = os.environ.get("SPARK_CONF_DIR") or str(Path(_bridge.spark_home(), "conf"))
        path = Path(folder, "spark-defaults.conf")
    return _properties(path).get(key)


def _jar_words(words: list[str]) -> list[int]:
    # The positions of the words that hold jar lists: what follows --jars, and --conf's spark.jars=.
    return [
        at
        for at in range(1, len(words))
        if words[at - 1] == "--jars"
        or (words[at - 1] in ("--conf", "-c") and words[at].startswith("spark.jars="))
    ]


def _properties(path: Path) -> dict[str, str]:
    # Java's properties format as far as spark-defaults.conf uses it: key, blank or = or :, value.
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    found = (re.match(r"\s*([^#!\s=:][^\s=:]*)(?:\s*[=:]\s*|\s+)(.*?)\s*$", line) for line in lines)
    return {match.group(1): match.group(2) for match in found if match}
