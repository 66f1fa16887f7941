"""Spark's settings decide who may see Tidemark's pages and their JSON, of a driver and in the History Server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pyspark
import pytest
from support.processes import PATIENCE_SECONDS, clean_environment, run_script
from support.ui_user import COMPILER

import tidemark

pytestmark = [
    pytest.mark.engine,
    pytest.mark.more,
    pytest.mark.skipif(not COMPILER, reason="needs a Java compiler"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access")


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[str, Any]:
    return run_script("ui_access.py", str(folder))


def test_a_user_with_the_right_to_view_sees_tidemarks_pages(seen: dict[str, Any]) -> None:
    found = seen["found"]["alice"]
    assert {path: status for path, (status, _) in found.items() if status != 200} == {}
    for path in ("event-time/json", "event-time/query/json?id=ID", "event-time/query/?id=ID"):
        assert found[path] == [200, True], path


def test_a_user_without_the_right_to_view_is_refused_everywhere(seen: dict[str, Any]) -> None:
    found = seen["found"]["bob"]
    assert found["jobs/"] == [403, False]
    assert {path: answer for path, answer in found.items() if answer != [403, False]} == {}


def test_without_a_user_spark_answers_everybody_and_so_does_tidemark(seen: dict[str, Any]) -> None:
    found = seen["found"]["unknown"]
    assert found["jobs/"][0] == found["event-time/"][0] == found["event-time/json"][0] == 200


@contextmanager
def history_server(events: Path, work: Path, seen: dict[str, Any]) -> Iterator[str]:
    work.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        f"-Dspark.history.fs.logDirectory={events.as_uri()} -Dspark.history.ui.port={port} "
        f"-Dspark.history.fs.update.interval=1s -Dspark.history.ui.acls.enable=true "
        f"-Dspark.ui.filters={seen['filter']}"
    )
    jars = os.pathsep.join([str(tidemark.jars.jar_path()), seen["classes"]])
    server = subprocess.Popen(
        [
            str(Path(pyspark.__file__).parent / "bin" / "spark-class"),
            "org.apache.spark.deploy.history.HistoryServer",
        ],
        cwd=work,
        env=clean_environment(SPARK_HISTORY_OPTS=options, SPARK_DAEMON_CLASSPATH=jars),
        stdout=subprocess.DEVNULL,
        stderr=(work / "log").open("wb"),
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def answer(address: str) -> tuple[int, str]:
    try:
        with urlopen(address, timeout=PATIENCE_SECONDS) as found:
            return found.status, found.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_the_history_server_refuses_the_same_users(seen: dict[str, Any], folder: Path) -> None:
    with history_server(folder / "events", folder / "server", seen) as server:
        application = f"{server}/history/{seen['application']}"
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if answer(f"{application}/jobs/?user=alice")[0] == 200:
                    break
            except URLError:
                pass
            assert time.monotonic() < give_up
            time.sleep(0.2)
        run = seen["run"]
        for path in (f"query/?id={run}&", f"query/json?id={run}&", "json?", "?"):
            status, text = answer(f"{application}/event-time/{path}user=alice")
            # The list of queries names no splits.
            assert (status, "secret" in text or path == "?") == (200, True), path
            status, text = answer(f"{application}/event-time/{path}user=bob")
            assert (status, "secret" in text) == (403, False), path
        assert answer(f"{application}/jobs/?user=bob")[0] == 403
