"""Gauges of running queries, as Prometheus scrapes them from Spark's web UI."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.pages import ROOT, blocks
from support.processes import run_script

pytestmark = [pytest.mark.engine, pytest.mark.more]

PAGE = ROOT / "docs" / "guides" / "monitoring.md"
PREFIX = "metrics_orders_driver_tidemark_"
NUMBER = r"NaN|-?\d+(?:\.\d+)?(?:E-?\d+)?"
# A name, labels in plain letters, and a number.
LINE = re.compile(rf'[a-zA-Z_][a-zA-Z0-9_]*\{{[a-z]+="\w+"(?:, ?[a-z]+="\w+")*\}} (?:{NUMBER})')


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_script("prometheus.py", str(tmp_path_factory.mktemp("prometheus")))


def gauges(text: str, query: str) -> dict[str, float]:
    """The gauges of a query, by the rest of their names."""
    pattern = rf'^{PREFIX}{query}_(\w+)_Value\{{type="gauges"\}} ({NUMBER})$'
    return {name: float(value) for name, value in re.findall(pattern, text, re.MULTILINE)}


def documented(*keys: str, operators: tuple[str, ...]) -> set[str]:
    """The gauges that the page lists."""
    table = PAGE.read_text(encoding="utf-8").split("| gauge |")[1].split("\n\n")[0]
    cells = (line.split("|")[1] for line in table.splitlines()[2:])
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) == 15
    return {
        name.replace("<key>", key).replace("<id>", operator)
        for name in names
        for key in keys
        for operator in operators
    }


def test_prometheus_scrapes_every_gauge_that_the_page_lists(scraped: dict[str, Any]) -> None:
    assert "tidemark" not in scraped["before"]
    found = gauges(scraped["during"], "hourly")
    gauges_of_page = documented("orders", "payments", operators=("0", "1"))
    assert set(found) == {name.replace("-", "_") for name in gauges_of_page}
    assert found["orders_behind_seconds"] == found["payments_behind_seconds"] == 600
    assert found["late_rows_total"] == 0


def test_the_alerts_of_the_page_ask_for_gauges_that_there_are(scraped: dict[str, Any]) -> None:
    asked = set(re.findall(rf"{PREFIX}hourly_(\w+)_Value", PAGE.read_text(encoding="utf-8")))
    assert len(asked) == 6
    assert asked <= set(gauges(scraped["during"], "hourly"))


RULE_TESTS = """
rule_files: [alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'metrics_orders_driver_tidemark_hourly_payments_watermark_lag_seconds_Value{type="gauges"}'
        values: '4000x20 NaN NaN NaN -100000x20'
      - series: 'metrics_orders_driver_tidemark_hourly_trouble_Value{type="gauges"}'
        values: '1x20 0x40'
    alert_rule_test:
      - {eval_time: 14m, alertname: ResultsAreDelayed}
      - {eval_time: 14m, alertname: QueryIsInTrouble}
      - eval_time: 16m
        alertname: ResultsAreDelayed
        exp_alerts: [{exp_labels: {type: gauges}}]
      - eval_time: 16m
        alertname: QueryIsInTrouble
        exp_alerts: [{exp_labels: {type: gauges}}]
      - {eval_time: 22m, alertname: ResultsAreDelayed}
      - {eval_time: 22m, alertname: WatermarkIsAhead}
      - {eval_time: 30m, alertname: QueryIsInTrouble}
      - {eval_time: 30m, alertname: QueryIsGone}
      - eval_time: 30m
        alertname: WatermarkIsAhead
        exp_alerts: [{exp_labels: {type: gauges}}]
      - eval_time: 90m
        alertname: QueryIsGone
        exp_alerts: [{}]
"""


def test_the_alerts_of_the_page_are_raised_in_time(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("Prometheus' promtool is not on the path")
    alerts = next(block.text for block in blocks(PAGE, "yaml") if block.text.startswith("groups:"))
    (tmp_path / "alerts.yaml").write_text(alerts, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(RULE_TESTS, encoding="utf-8")
    for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "tests.yaml"]):
        done = subprocess.run(
            [promtool, *command], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_asks_for_gauges_that_there_are(scraped: dict[str, Any]) -> None:
    """Each expression is a pattern of names; Prometheus matches one from its begin to its end."""
    board = json.loads((PAGE.parent / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = re.findall(r"^(\w+)\{", scraped["during"], re.MULTILINE)
    for expression in asked:
        found = re.fullmatch(r'\{__name__=~"(.+)"\}', expression)
        assert found, expression
        pattern = found.group(1).replace("${application}", "orders").replace("${query}", "hourly")
        assert any(re.fullmatch(pattern, name) for name in names), expression
    assert len(asked) == 9


def labelled(gauge: str) -> tuple[str, dict[str, str | None]]:
    """A gauge as the page's rules of the JMX exporter name it: the first rule whose pattern is found counts."""
    rules = next(block.text for block in blocks(PAGE, "yaml") if block.text.startswith("rules:"))
    bean = f"metrics<name=orders.driver.tidemark.hourly.{gauge}, type=gauges><>Value"
    for rule in yaml.safe_load(rules)["rules"]:
        if match := re.search(rule["pattern"], bean):
            labels = {label: match[int(group[1:])] for label, group in rule["labels"].items()}
            return match.expand(rule["name"].replace("$", "\\")), labels
    raise AssertionError(f"no rule is for {gauge}")


def test_the_rules_of_the_page_name_every_gauge_and_label_it() -> None:
    found = {
        gauge: labelled(gauge)
        for gauge in documented("orders", "pay-ments", operators=("0", "1-left"))
    }
    assert len({(name, tuple(labels.items())) for name, labels in found.values()}) == len(found)
    query = {"query": "hourly"}
    lag = ("tidemark_watermark-lag-seconds", query | {"key": "pay-ments"})
    assert found["pay-ments-watermark-lag-seconds"] == lag
    split = ("tidemark_worst-split-behind-seconds", query | {"key": "pay-ments"})
    assert found["pay-ments-worst-split-behind-seconds"] == split
    left = ("tidemark_operator_late-rows-total", query | {"operator": "1", "side": "left"})
    assert found["op-1-left-late-rows-total"] == left
    alone = ("tidemark_operator_late-rows-total", query | {"operator": "0", "side": None})
    assert found["op-0-late-rows-total"] == alone
    assert found["late-rows-total"] == ("tidemark_query_late-rows-total", query)


def test_a_lag_is_measured_when_prometheus_scrapes(scraped: dict[str, Any]) -> None:
    lag = gauges(scraped["during"], "hourly")["payments_watermark_lag_seconds"]
    # The engine's clock has milliseconds.
    assert scraped["earliest"] - 0.001 <= lag <= scraped["latest"]


def test_late_rows_reach_prometheus(scraped: dict[str, Any]) -> None:
    found = gauges(scraped["late"], "hourly")
    assert found["late_rows_total"] == found["orders_late_rows_total"] == 1
    assert found["payments_late_rows_total"] == 0
    assert {found["op_0_late_rows_total"], found["op_1_late_rows_total"]} == {0, 1}
    # The window of the row had ended at 09:00, and the watermark was 12:10.
    assert found["orders_most_late_seconds"] == pytest.approx(190 * 60, abs=1)


def test_the_names_of_a_query_and_of_its_keys_cannot_break_the_format(
    scraped: dict[str, Any],
) -> None:
    lines = scraped["hostile"].splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    ours = [line for line in lines if line.startswith(PREFIX)]
    others = [line for line in ours if not line.startswith(f"{PREFIX}hourly_")]
    # One input, one operator, and what every query has. Spark shows each gauge twice, as a number and as a value.
    assert len(others) == 2 * 15
    assert max(map(len, others)) < 400


def test_the_gauges_of_a_query_are_gone_when_it_has_ended(scraped: dict[str, Any]) -> None:
    assert gauges(scraped["hostile"], "hourly")
    assert "tidemark" not in scraped["after"]
