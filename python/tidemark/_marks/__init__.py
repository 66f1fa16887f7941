"""Noted time: writers state how far they are, in a mark log that any reader can look at.

Standard library only: no Spark, no JVM. `docs/noted-time/writers.md` is the protocol.

    marks       the public entry: `Marks`
    writer      a writer and its lives; `automatic` notes the clock for it
    kafka       a writer of Kafka rows; `kafka_automatic` stamps them; `kafka_rows` knows their offsets
    log         reading a log; `files` is all that touches the disk
    text        one mark as a line; `canonical` reads the usual line quickly; `names` of files
    rules       which marks count, and which are passed at a position
    window      the time window of a position; `cut` is a position that divides a stream
    stream      Pravega's aggregation of all writers into one watermark
"""

from __future__ import annotations
