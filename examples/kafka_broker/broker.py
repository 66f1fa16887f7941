"""Starts a broker as a child process, and stops it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from common.ending import clean_end

from .jars import broker_jars
from .settings import CLUSTER_ID, settings

READY_SECONDS = 120
STARTED = "Kafka Server started"


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A running broker with nothing in it; gives what clients have to know, ``host:port``.

    Args:
        folder: for its data, its settings and its log; what was in there is deleted.

    Raises:
        SystemExit: it did not start; says so with what its log has on it.
    """
    broker = Broker(folder)
    # Ending this program ends the broker as well.
    with clean_end():
        try:
            broker.start()
            yield broker.servers
        finally:
            broker.stop()


class Broker:
    """A broker that can be stopped, and started again with its data. Its caller has to stop it.

    Args:
        folder: as for `broker`.
    """

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        port, controller = _free_ports(2)
        self.servers = f"127.0.0.1:{port}"
        self._conf, self._log = folder / "server.properties", folder / "broker.log"
        self._conf.write_text(settings(port, controller, folder / "data"), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None
        _format(self._conf, self._log)

    def start(self) -> None:
        """Returns when it answers.

        Raises:
            SystemExit: as for `broker`.
        """
        with self._log.open("ab") as log:
            # What it has said of an earlier start does not count.
            begin = log.tell()
        self._process = _start(["kafka.Kafka", str(self._conf)], self._log)
        _wait(self._process, self.servers, self._log, begin)

    def stop(self) -> None:
        """Nothing if it is not running."""
        if self._process is not None:
            _stop(self._process)
            self._process = None


def _format(conf: Path, log: Path) -> None:
    tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(conf)]
    if _start(tool, log).wait(READY_SECONDS):
        raise SystemExit(f"The broker's storage could not be made. {_why(log)}")


def _start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    class_path = os.pathsep.join(map(str, broker_jars()))
    # A small heap, and no more of a compiler than a few minutes are worth.
    options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    with log.open("ab") as out:
        return subprocess.Popen(
            [java, *options, "-cp", class_path, *command], stdout=out, stderr=subprocess.STDOUT
        )


def _wait(process: subprocess.Popen[bytes], servers: str, log: Path, begin: int) -> None:
    """Waits until the broker says that it has started, and answers."""
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"The broker ended with code {process.returncode}. {_why(log)}")
        if STARTED.encode() in log.read_bytes()[begin:] and _answers(servers):
            return
        time.sleep(0.2)
    raise SystemExit(f"The broker was not ready after {READY_SECONDS} s. {_why(log)}")


def _answers(servers: str) -> bool:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    with suppress(KafkaException):
        return bool(AdminClient({"bootstrap.servers": servers}).list_topics(timeout=5).brokers)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports(many: int) -> list[int]:
    """Free ports; all are held until all are found, so none comes twice."""
    sockets = [socket.socket() for _ in range(many)]
    try:
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in sockets]
    finally:
        for listener in sockets:
            listener.close()


def _why(log: Path, lines: int = 25) -> str:
    """What the log says of a failure: its cause stands far above its end."""
    lines_of_log = log.read_text(encoding="utf-8", errors="replace").splitlines()
    bad = (
        n
        for n, line in enumerate(lines_of_log)
        if "ERROR" in line or "FATAL" in line or "Exception" in line
    )
    first = next(bad, max(0, len(lines_of_log) - lines))
    return "\n".join([f"From {log}:", *lines_of_log[first : first + lines]])
