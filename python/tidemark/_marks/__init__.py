"""Noted time: writers state how far they are, in a mark log that any reader can look at.

Standard library only: no Spark, no JVM. `docs/noted-time/writers.md` is the protocol.

    marks      the public entry: `Marks`
    protocol   a mark, its line, its file
    reading    what a log says
    writing    how a writer adds to it
    kafka      writers of Kafka rows; logs in topics
    store      a log as `Marks` and its writers use it: `folder_log`, or one in a topic; `locations` finds it
"""

from __future__ import annotations
