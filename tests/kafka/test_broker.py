"""The Kafka broker's settings, and the error for a broker that does not start."""

from __future__ import annotations

from pathlib import Path

from kafka_broker import broker, settings


def test_the_kafka_broker_listens_on_local_addresses_only() -> None:
    text = settings.settings(1111, 2222, Path("/data"))
    addresses = [
        part for part in text.replace(",", "\n").replace("@", "//").split("//") if ":" in part
    ]
    assert all(address.startswith("127.0.0.1:") for address in addresses[1:])
    assert "listeners=PLAINTEXT://127.0.0.1:1111,CONTROLLER://127.0.0.1:2222\n" in text


def test_the_kafka_broker_keeps_old_records() -> None:
    assert "log.retention.ms=-1\n" in settings.settings(1, 2, Path("/data"))


def test_the_kafka_broker_gets_distinct_free_ports() -> None:
    ports = broker._free_ports(5)
    assert len(set(ports)) == 5


def test_a_broker_failure_shows_the_cause_from_its_log(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    lines = ["[main] INFO starting", "[main] ERROR no space", *["[main] INFO stopping"] * 100]
    log.write_text("\n".join(lines))
    assert broker._why(log).splitlines()[:2] == [f"From {log}:", "[main] ERROR no space"]
