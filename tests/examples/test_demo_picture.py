"""The demo's picture, drawn from invented watermarks and the real rows."""

from __future__ import annotations

from pathlib import Path

from support.demo import files, held, outcome, picture, runs, table, watching


def test_the_demo_writes_a_png_picture(tmp_path: Path) -> None:
    prepared = files.prepare(tmp_path / "data")
    figures = held.Held(0, 28, None, None, None, 0)
    keys: dict[runs.Engine, tuple[str, ...]] = {
        "stock": (watching.GLOBAL,),
        "tidemark": ("departure", "weather_time"),
    }
    found = []
    for engine, names in keys.items():
        run = outcome.Outcome("two_dashboards", False)
        run.watermarks = {name: [None, "2013-11-02T00:50:00"] for name in names}
        found.append(table.Result(engine, run, figures))
    picture.draw(found, prepared, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
