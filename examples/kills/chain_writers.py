"""The writers of a chain: one program that sends pieces of rows, and notes a time behind each.

In files, a piece is a file. In Kafka it is a few records. One of the writers has each piece and its mark in a
transaction.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import tidemark

from . import chain_rows
from .chain_rows import Sent

STOP = "stop"
"""With a file of this name, a program ends: the writers send no more, a query stops."""
PIECES = "pieces.json"
"""How many pieces each writer has sent, once all are sent."""
PAUSE_SECONDS = 0.5
"""Between pieces of a writer."""
MARKS = "marks"
"""The topic that has the marks of all chains."""
IN_TRANSACTIONS = "us"


def logs(folder: Path, servers: str | None) -> tuple[str, str]:
    """Where the mark logs of the first and the second query are: beside files, or in Kafka."""
    if servers:
        return f"kafka:{MARKS}/{folder.name}-in", f"kafka:{MARKS}/{folder.name}-mid"
    return str(folder / "in" / "_tidemark"), str(folder / "mid" / "_tidemark")


def log(folder: Path, servers: str | None) -> tidemark.marks.Marks:
    """The marks of the writers."""
    options = {"bootstrap.servers": servers} if servers else None
    return tidemark.marks.Marks(logs(folder, servers)[0], options=options, max_ahead=None)


class _Sender(Protocol):
    def send(self, piece: int, rows: list[Sent], millis: int) -> None:
        """Sends a piece, and notes a time behind it."""

    def end(self, millis: int) -> None:
        """Notes a last time, and ends the writer."""


class _Files:
    def __init__(self, folder: Path, writer: tidemark.marks.MarkWriter) -> None:
        self._folder, self._writer = folder, writer

    def send(self, piece: int, rows: list[Sent], millis: int) -> None:
        file = self._folder / "in" / f"{self._writer.name}-{piece:05}.json"
        # An earlier life may have made it.
        if not file.exists():
            draft = file.parent / f".{file.name}"
            draft.write_text("\n".join(map(_json, rows)), encoding="utf-8")
            draft.rename(file)
        self._writer.note_time(millis, files=[file.name])

    def end(self, millis: int) -> None:
        self._writer.note_time(millis, files=[])
        self._writer.end()


class _Records:
    def __init__(self, writer: tidemark.marks.KafkaMarkWriter, transactions: Any) -> None:
        self._writer, self._transactions = writer, transactions

    def send(self, piece: int, rows: list[Sent], millis: int) -> None:
        if self._transactions:
            self._transactions.begin_transaction()
        for row in rows:
            self._writer.produce(_json(row), str(row.number))
        if self._transactions:
            self._writer.commit_transaction(millis)
        else:
            self._writer.note_time(millis)

    def end(self, millis: int) -> None:
        self.send(0, [], millis)
        self._writer.end()


def write(folder: Path, seed: int, servers: str | None) -> None:
    """Sends pieces until it is to stop. A later life goes on behind the last time that was noted."""
    marks = log(folder, servers)
    with ExitStack() as stack:
        senders: dict[str, _Sender] = {
            name: _records(stack, marks, folder, name, servers)
            if servers
            else _Files(folder, stack.enter_context(marks.writer(name)))
            for name in chain_rows.WRITERS
        }
        pieces = {name: _next_piece(marks, name) for name in senders}
        while not (folder / STOP).exists():
            for name, sender in senders.items():
                rows = chain_rows.rows(seed, name, pieces[name])
                sender.send(pieces[name], rows, chain_rows.noted(name, pieces[name]) * 1000)
                pieces[name] += 1
            time.sleep(PAUSE_SECONDS)
        for name, sender in senders.items():
            # Behind all windows, so that each of them is emitted.
            sender.end(chain_rows.noted(name, max(pieces.values()) + 100) * 1000)
    (folder / PIECES).write_text(json.dumps(pieces), encoding="utf-8")


def _next_piece(marks: tidemark.marks.Marks, name: str) -> int:
    noted = [
        mark.time_millis
        for mark in marks.read().marks
        if mark.writer == name and mark.time_millis is not None
    ]
    return chain_rows.piece_of(name, max(noted) // 1000) + 1 if noted else 0


def _records(
    stack: ExitStack, marks: tidemark.marks.Marks, folder: Path, name: str, servers: str
) -> _Records:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient

    settings: dict[str, Any] = {"bootstrap.servers": servers}
    transactional = {"transactional.id": f"{folder.name}-{name}"} if name == IN_TRANSACTIONS else {}
    producer = Producer({**settings, **transactional, "linger.ms": 5})
    if transactional:
        # It ends the transaction of a killed life.
        producer.init_transactions(60)
    writer = marks.kafka_writer(producer, f"{folder.name}-in", name, admin=AdminClient(settings))
    stack.enter_context(writer)
    return _Records(writer, producer if transactional else None)


def _json(row: Sent) -> str:
    return json.dumps({"number": row.number, "id": row.id, "at": row.at})
