"""Sends rows to Kafka and notes their times, until it is killed: BROKERS TOPIC LOG [automatic].

Each row has its own event time, its number, as value and as timestamp; with `automatic` the writer
stamps it. Prints `ready` when the first time is noted.
"""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

import tidemark

servers, topic, location, *rest = sys.argv[1:]
settings = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 2}
producer, admin = Producer(settings), AdminClient({"bootstrap.servers": servers})
marks = tidemark.marks.Marks(location, max_ahead=None)
writer: Any
if rest:
    period = timedelta(milliseconds=20)
    writer = marks.kafka_writer(producer, topic, "w", admin=admin, automatic=period)
    writer.note_now()
else:
    writer = marks.kafka_writer(producer, topic, "w", admin=admin)
# Brokers refuse timestamps of the future.
watermark = marks.watermark()
begin = 10**12 if watermark is None else watermark.lower_millis + 1
print("ready", flush=True)
for number in range(begin, 2 * 10**12):
    # Nearly all rows go to one partition, so others are behind for long.
    key = b"rare" if number % 97 == 0 else b"usual"
    if rest:
        writer.produce(b"", key)
    else:
        writer.produce(str(number).encode(), key, timestamp=number)
        if number % 40 == 0:
            writer.note_time(number)
    if number % 500 == 0:
        time.sleep(0.001)
