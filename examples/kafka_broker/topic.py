"""Makes a topic and fills it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Record(NamedTuple):
    """One record, and the partition that it goes to."""

    partition: int
    key: str
    value: str


def make_topic(servers: str, name: str, partitions: int) -> None:
    """Makes an empty topic."""
    from confluent_kafka.admin import AdminClient, NewTopic

    # Kept in a variable until it is done: the futures end with their client.
    admin = AdminClient({"bootstrap.servers": servers})
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1)
    for future in admin.create_topics([topic]).values():
        future.result(timeout=60)


def fill(servers: str, name: str, records: Iterable[Record]) -> Iterator[Record]:
    """Sends the records, each partition's in their order; gives each one when it is on its way.

    Raises:
        RuntimeError: a record did not arrive.
    """
    from confluent_kafka import KafkaError, Message, Producer

    failed: list[KafkaError] = []

    def arrived(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    # Idempotent: a record that has to be sent again comes neither twice nor out of order.
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 50})
    for record in records:
        while True:
            try:
                producer.produce(
                    name, record.value, record.key, record.partition, on_delivery=arrived
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
        yield record
    left = producer.flush(120)
    if failed or left:
        why = f", the first because of {failed[0]}" if failed else ""
        raise RuntimeError(f"{len(failed) + left} records did not arrive in {name}{why}.")
