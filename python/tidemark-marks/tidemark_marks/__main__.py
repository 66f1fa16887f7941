"""`python -m tidemark_marks`: whether a stream is complete up to a time, and the marks of its log."""

import sys

from tidemark_marks._command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
