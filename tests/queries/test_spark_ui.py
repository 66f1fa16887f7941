"""The tab of Spark's web UI: of a running driver, and in the History Server with and without the jar."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pyspark
import pytest
from support.processes import PATIENCE_SECONDS, clean_environment, run_script

import tidemark

pytestmark = [pytest.mark.engine, pytest.mark.more]

SENTENCE = "Nothing comes out: aggregation #0 waits for"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[str, Any]:
    return run_script("spark_ui.py", str(folder))


def test_a_driver_has_the_tab_from_its_first_query_on(seen: dict[str, Any]) -> None:
    # Spark answers an unknown address with the page of jobs.
    assert "/event-time/" not in seen["before"]
    assert seen["code"] == 200
    assert SENTENCE in seen["page"]
    assert seen["held"] in seen["page"] and seen["flowing"] in seen["page"]


def test_the_page_of_a_query_has_the_sentence_and_the_drawings(seen: dict[str, Any]) -> None:
    for part in (SENTENCE, "pl-7", "<svg ", "Event Time of a Query"):
        assert part in seen["query"]
    report = json.loads(seen["json"])
    assert report["why"]["held_by"] == "payments"
    assert report["query"]["runId"] == seen["held"]


def test_the_pages_keep_to_the_policy_of_newer_sparks(seen: dict[str, Any]) -> None:
    policy = seen["headers"].get("Content-Security-Policy", "script-src 'self'")
    assert "script-src 'self'" in policy
    ours = seen["query"].split("This run has not ended.")[1].rpartition("</table>")[0]
    ours = ours.replace('xmlns="http://www.w3.org/2000/svg"', "")
    for part in ("<script", "src=", "href=", "url(", "http://", "https://"):
        assert part not in ours


@contextmanager
def history_server(events: Path, work: Path, **environment: str) -> Iterator[str]:
    """Spark's History Server on a free port, until the block ends."""
    work.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        f"-Dspark.history.fs.logDirectory={events.as_uri()} -Dspark.history.ui.port={port} "
        "-Dspark.history.fs.update.interval=1s"
    )
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    server = subprocess.Popen(
        [*command, "org.apache.spark.deploy.history.HistoryServer"],
        cwd=work,
        env=clean_environment(SPARK_HISTORY_OPTS=options, **environment),
        stdout=subprocess.DEVNULL,
        stderr=(work / "log").open("wb"),
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def fetch(address: str) -> str:
    with urlopen(address, timeout=PATIENCE_SECONDS) as answer:
        text: str = answer.read().decode()
    return text


def pages(server: str, application: str) -> str:
    """Where the application's pages are, as soon as the server has read its event log."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fetch(f"{server}/api/v1/applications/{application}")
            return f"{server}/history/{application}"
        except URLError:
            if time.monotonic() > end:
                raise
        time.sleep(0.2)


def test_the_history_server_has_the_tab_if_it_has_the_jar(
    seen: dict[str, Any], folder: Path
) -> None:
    jar = {"SPARK_DAEMON_CLASSPATH": tidemark.jars.jar_path()}
    with history_server(folder / "events", folder / "with", **jar) as server:
        application = pages(server, seen["application"])
        page = fetch(f"{application}/event-time/")
        assert page.count("ENDED") == 2
        assert SENTENCE in page
        query = fetch(f"{application}/event-time/query/?id={seen['held']}")
        for part in (SENTENCE, "pl-7", "<svg ", "This run has ended."):
            assert part in query
        text = fetch(f"{application}/event-time/query/json?id={seen['held']}")
        assert json.loads(text)["query"]["runId"] == seen["held"]


def test_the_history_server_without_the_jar_shows_everything_else(
    seen: dict[str, Any], folder: Path
) -> None:
    with history_server(folder / "events", folder / "without") as server:
        page = fetch(f"{pages(server, seen['application'])}/StreamingQuery/")
        assert "held" in page
        assert "/event-time/" not in page
