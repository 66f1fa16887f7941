"""Writers of Kafka rows, and mark logs in Kafka topics.

writer       wraps a producer; `automatic` stamps its rows
rows         their offsets; `deliveries` waits for them, `ends` asks for those of earlier lives
transaction  a mark in the transaction of its rows
topic_log    a log in a topic: `topic_marks` reads it, `topic_life` writes it, `topic_text` is its records
topic        a topic as these use it; `topic_client` a real one, `topic_refusal` why it refuses a record
"""

from __future__ import annotations
