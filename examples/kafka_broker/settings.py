"""The broker's settings: a single node without ZooKeeper, to be reached from this machine only."""

from __future__ import annotations

from pathlib import Path

CLUSTER_ID = "dGlkZW1hcmstZXhhbXBsZQ"
"""Sixteen bytes in base 64, as Kafka wants it; they say "tidemark-example"."""


def settings(port: int, controller: int, data: Path) -> str:
    """A file of settings for a broker on this port, with its controller on another one."""
    here = "127.0.0.1"
    lines = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{here}:{controller}",
        "listeners": f"PLAINTEXT://{here}:{port},CONTROLLER://{here}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{here}:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": data,
        # Records dated years back would be old enough to be deleted, without any message.
        "log.retention.ms": -1,
        "auto.create.topics.enable": "false",
        # One node cannot hold more than one copy of the broker's own topics either.
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())
