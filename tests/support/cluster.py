"""Sessions with executors in separate processes, which get the jar through `spark.jars` alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import tidemark
from support.processes import PATIENCE_SECONDS


def on_a_cluster(
    folder: Path, master: str = "local-cluster[2,1,1024]", **more: str
) -> SparkSession:
    """A session with two executors. All files that a cluster writes go into `folder`."""
    os.environ["SPARK_HOME"] = str(_home(folder))
    return (
        SparkSession.builder.master(master)
        .config(map=more)
        .config("spark.jars", tidemark.jars.jar_path())
        .config("spark.sql.extensions", tidemark.jars.EXTENSION)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.files.minPartitionNum", "4")
        .getOrCreate()
    )


@contextmanager
def two_machines(folder: Path) -> Iterator[str]:
    """The URL of a master with workers on two addresses, which Spark treats as two machines."""
    home = _home(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(_daemon(home, "127.0.0.1", "master.Master", "--port", str(port)))
        _wait_for("127.0.0.1", port)
        for host in ("127.0.0.2", "127.0.0.3"):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / host), master]
            stack.enter_context(_daemon(home, host, "worker.Worker", *work))
        yield master


@contextmanager
def _daemon(home: Path, host: str, name: str, *arguments: str) -> Iterator[None]:
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    command += ["--host", host, "--webui-port", "0", *arguments]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": host}
    with (home / "logs" / f"{host}.log").open("wb") as log:
        # The script replaces its own process with the JVM.
        daemon = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            daemon.kill()
            raise


def _wait_for(host: str, port: int) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection((host, port)).close()
        except OSError:
            if time.monotonic() > give_up:
                raise AssertionError(f"nothing answers at {host}:{port}") from None
            time.sleep(0.1)
        else:
            return


def _home(folder: Path) -> Path:
    """A SPARK_HOME that a cluster can write to: the one that pip installed must not change."""
    home = folder / "home"
    if not home.exists():
        for name in ("conf", "work", "logs"):
            (home / name).mkdir(parents=True)
        for name in ("bin", "sbin", "jars", "python"):
            target = Path(pyspark.__file__).parent / name
            if target.exists():
                (home / name).symlink_to(target)
    return home
