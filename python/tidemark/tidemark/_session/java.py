"""Which Java Spark is going to start with, found out without starting it where possible."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tidemark._errors import TidemarkError

OLDEST_JAVA = 17


def java_major() -> int | None:
    """The major version of the Java that `spark-submit` picks; None when it cannot be found out.

    Spark takes `$JAVA_HOME/bin/java`, else the `java` on the path.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not command or not Path(command).exists():
        return None
    return _from_release_file(command) or _from_command(command)


def require_java() -> None:
    """Refuses a Java too old for Spark 4, which would die with an `UnsupportedClassVersionError`.

    Raises:
        TidemarkError: `JAVA_TOO_OLD`. A Java that cannot be found is left to Spark to report.
    """
    major = java_major()
    if major is not None and major < OLDEST_JAVA:
        raise too_old(major)


def too_old(major: int) -> TidemarkError:
    """The error for a Java of this major version."""
    return TidemarkError(
        "JAVA_TOO_OLD",
        f"Java {major} was found, but Spark 4 needs Java {OLDEST_JAVA} or 21",
        f"setting JAVA_HOME to a JDK {OLDEST_JAVA} or 21",
        javaVersion=major,
    )


def parse_major(version: str) -> int | None:
    """17 of `17.0.15`, 8 of the old style `1.8.0_392`."""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found.group(1)) if found else None


def _from_release_file(command: str) -> int | None:
    # Every JDK since 9 has this file beside bin/; reading it spares the 100 ms of starting Java.
    release = Path(os.path.realpath(command)).parent.parent / "release"
    try:
        found = re.search(r'JAVA_VERSION="([^"]+)"', release.read_text(errors="replace"))
    except OSError:
        return None
    return parse_major(found.group(1)) if found else None


def _from_command(command: str) -> int | None:
    try:
        done = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return parse_major(found.group(1)) if found else None
