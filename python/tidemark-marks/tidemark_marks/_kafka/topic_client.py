"""A real Kafka topic, through confluent-kafka. All problems of brokers are an `OSError`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from tidemark_marks._kafka.topic import Record
from tidemark_marks._kafka.topic_refusal import not_taken
from tidemark_marks.errors import invalid_option

_SECONDS = 30.0
"""How long brokers may say nothing before a call gives up."""

_BATCH = 2000


class KafkaTopic:
    """A topic. No broker is asked before the first read or write.

    Args:
        name: The topic's name.
        options: Settings of confluent-kafka for all clients, with `bootstrap.servers`.

    Raises:
        TidemarkError: `INVALID_OPTION` without confluent-kafka.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        # A transaction belongs to the producer of the rows, and not to clients that look after marks.
        self._options = {key: value for key, value in options.items() if key != "transactional.id"}
        try:
            self._kafka: Any = import_module("confluent_kafka")
        except ModuleNotFoundError as problem:
            raise invalid_option(
                "location",
                name,
                "a folder, because confluent-kafka is not installed",
                "running pip install 'tidemark-marks[kafka]'",
            ) from problem

    def reader(self, starts: Mapping[int, int], *, committed: bool) -> KafkaTopicReader:
        """As `Topic.reader`."""
        return KafkaTopicReader(self._kafka, self.name, self._options, starts, committed)

    def sender(self) -> KafkaTopicSender:
        """As `Topic.sender`."""
        return KafkaTopicSender(self._kafka, self.name, self._options)

    def require_fit(self) -> None:
        """As `Topic.require_fit`."""
        reader = self.reader({}, committed=True)
        try:
            reader.partitions()
        finally:
            reader.close()
        policy = self._setting("cleanup.policy")
        if policy is not None and "compact" in policy:
            raise OSError(
                f"topic '{self.name}' has cleanup.policy={policy}, which removes marks that readers need; "
                "it must be delete"
            )

    def _setting(self, name: str) -> str | None:
        """A setting of the topic; None if the client may not see it."""
        admin = import_module("confluent_kafka.admin")
        client = admin.AdminClient(self._options)
        resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, self.name)
        try:
            (answer,) = client.describe_configs([resource], request_timeout=_SECONDS).values()
            entry = answer.result().get(name)
        except self._kafka.KafkaException:
            return None
        return None if entry is None else str(entry.value)


class KafkaTopicReader:
    """As `TopicReader`: a consumer that belongs to no group."""

    def __init__(
        self,
        kafka: Any,
        name: str,
        options: Mapping[str, Any],
        starts: Mapping[int, int],
        committed: bool,
    ) -> None:
        self.reached = dict(starts)
        self._kafka = kafka
        self._name = name
        self._assigned: set[int] = set()
        level = kafka.IsolationLevel
        self._level = level.READ_COMMITTED if committed else level.READ_UNCOMMITTED
        admin = import_module("confluent_kafka.admin")
        self._latest = admin.OffsetSpec.latest()
        self._admin = _opened(kafka, admin.AdminClient, options)
        settings = {
            # confluent-kafka wants one, but nothing is committed under it.
            "group.id": "tidemark-marks",
            # A record that has just missed a request is seen only after this time, which is 500 ms by default.
            "fetch.wait.max.ms": 50,
            **options,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
        self._consumer = _opened(kafka, kafka.Consumer, settings)

    def partitions(self) -> list[int]:
        """The partitions of the topic.

        Raises:
            OSError: If there is no such topic.
        """
        try:
            # By a consumer, whose question does not create a topic.
            found = self._consumer.list_topics(self._name, timeout=_SECONDS).topics[self._name]
        except self._kafka.KafkaException as problem:
            raise OSError(f"the brokers do not answer: {problem}") from problem
        if found.error is not None:
            raise OSError(f"topic '{self._name}' cannot be used: {found.error}")
        return sorted(found.partitions)

    def ends(self) -> dict[int, int]:
        """As `TopicReader.ends`."""
        wanted = {
            self._kafka.TopicPartition(self._name, partition): self._latest
            for partition in self.partitions()
        }
        patience = time.monotonic() + _SECONDS
        while True:
            try:
                answers = self._admin.list_offsets(
                    wanted, isolation_level=self._level, request_timeout=_SECONDS
                )
                return {
                    partition.partition: answer.result().offset
                    for partition, answer in answers.items()
                }
            except self._kafka.KafkaException as problem:
                if not self._has_no_leader(problem) or time.monotonic() > patience:
                    raise OSError(f"the brokers gave no offsets: {problem}") from problem
            time.sleep(0.1)

    def _has_no_leader(self, problem: Any) -> bool:
        """Whether a partition has no leader yet, as just after the topic was created."""
        errors = self._kafka.KafkaError
        return problem.args[0].code() in (
            errors.NOT_LEADER_FOR_PARTITION,
            errors.LEADER_NOT_AVAILABLE,
        )

    def until(self, ends: Mapping[int, int]) -> Iterator[Record]:
        """As `TopicReader.until`."""
        self._assign(ends)
        left = {
            partition for partition, end in ends.items() if self.reached.get(partition, 0) < end
        }
        patience = time.monotonic() + _SECONDS
        problem: object = None
        while left:
            for message in self._messages():
                error = message.error()
                partition = message.partition()
                if error is None:
                    self.reached[partition] = message.offset() + 1
                    kind, millis = message.timestamp()
                    by_broker = millis if kind == self._kafka.TIMESTAMP_LOG_APPEND_TIME else None
                    yield Record(
                        partition, message.offset(), message.key(), message.value(), by_broker
                    )
                elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                    # The offset is behind control records of transactions, which no consumer is given.
                    self.reached[partition] = max(
                        self.reached.get(partition, 0), message.offset() or 0
                    )
                elif error.retriable() or error.code() in self._passing():
                    problem = error
                    continue
                else:
                    raise OSError(f"topic '{self._name}' cannot be read: {error}")
                patience = time.monotonic() + _SECONDS
            left = {
                partition for partition in left if self.reached.get(partition, 0) < ends[partition]
            }
            if time.monotonic() > patience:
                reason = "" if problem is None else f": {problem}"
                raise OSError(
                    f"topic '{self._name}' could not be read within {_SECONDS:.0f} s{reason}"
                )

    def close(self) -> None:
        """As `TopicReader.close`."""
        self._consumer.close()
        # Such a client ends with its last reference.
        self._admin = None

    def _messages(self) -> list[Any]:
        # With a time to wait, `consume` would wait until the batch is full.
        there: list[Any] = self._consumer.consume(_BATCH, timeout=0)
        if there:
            return there
        message = self._consumer.poll(0.2)
        return [] if message is None else [message]

    def _assign(self, ends: Mapping[int, int]) -> None:
        """Reads these partitions from now on, in the background too."""
        # Those without records would give no sign of life.
        wanted = {partition for partition, end in ends.items() if end > 0}
        if wanted <= self._assigned:
            return
        self._assigned |= wanted
        beginning = self._kafka.OFFSET_BEGINNING
        parts = [
            self._kafka.TopicPartition(
                self._name, partition, self.reached.get(partition, beginning)
            )
            for partition in self._assigned
        ]
        self._consumer.assign(parts)

    def _passing(self) -> tuple[int, ...]:
        error = self._kafka.KafkaError
        return error._ALL_BROKERS_DOWN, error._TRANSPORT, error._RESOLVE, error._TIMED_OUT


class KafkaTopicSender:
    """As `TopicSender`: a producer that waits for all replicas."""

    def __init__(self, kafka: Any, name: str, options: Mapping[str, Any]) -> None:
        self._kafka = kafka
        self._name = name
        settings = {
            # The partitions of Kafka's own client, so that a writer's marks usually stay in one.
            "partitioner": "murmur2_random",
            "message.timeout.ms": int(_SECONDS * 1000),
            **options,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 0,
        }
        self._producer = _opened(kafka, kafka.Producer, settings)

    def send(self, key: bytes, values: Sequence[bytes]) -> None:
        """As `TopicSender.send`."""
        failed: list[Any] = []

        def reported(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error)

        try:
            for value in values:
                self._producer.produce(self._name, value=value, key=key, on_delivery=reported)
            while self._producer.flush(1.0):
                # Each record is reported after its time-out at the latest.
                continue
        except (self._kafka.KafkaException, BufferError) as problem:
            failed.append(problem.args[0] if problem.args else problem)
        if failed:
            raise not_taken(self._name, failed[0])

    def close(self) -> None:
        """As `TopicSender.close`."""
        self._producer = None


def _opened(kafka: Any, client: Any, settings: Mapping[str, Any]) -> Any:
    try:
        return client(dict(settings))
    except kafka.KafkaException as problem:
        raise OSError(f"the options are not those of confluent-kafka: {problem}") from problem
