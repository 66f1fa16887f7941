"""`python -m tidemark`: the jar's path, checks of this machine and of a plan, and a checkpoint's log."""

import sys

from tidemark._command.command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
