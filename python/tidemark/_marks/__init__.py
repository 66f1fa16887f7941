"""Noted time: writers state how far they are, in a mark log that any reader can look at.

Standard library only: no Spark, no JVM. `docs/noted-time/writers.md` is the protocol.

    marks       the public entry: `Marks`
    writer      a writer and its lives; `automatic` notes the clock for it
    kafka       a writer of Kafka rows; `kafka_automatic` stamps them; `kafka_deliveries` hands them over;
                `kafka_rows` knows their offsets; `kafka_transaction` has marks in their transactions
    store       what a log is to them; `locations` finds it
    log         reading a log in a folder, `folder_log`; `life` writes it; `files` is all that touches the disk
    topic_log   a log in a Kafka topic; `topic_life` writes it; `topic_client` is all that touches brokers
    text        one mark as a line; `canonical` reads the usual line quickly; `names` of files
    rules       which marks count, and which are passed at a position
    window      the time window of a position; `cut` is a position that divides a stream
    stream      Pravega's aggregation of all writers into one watermark
"""

from __future__ import annotations
