"""A terminated program removes its temporary files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.processes import EXAMPLES

WAITS = """
import time
from common.folder import fast_folder
with fast_folder("ending-") as folder:
    (folder / "file").write_text("")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_a_terminated_program_removes_its_temporary_folder() -> None:
    command = [sys.executable, "-c", WAITS]
    with subprocess.Popen(command, cwd=EXAMPLES, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        folder = Path(program.stdout.readline().strip())
        assert (folder / "file").exists()
        program.terminate()
        assert program.wait(30) == 143
    assert not folder.exists()
