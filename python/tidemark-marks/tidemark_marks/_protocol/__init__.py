"""A mark log as it is stored: `docs/noted-time/format.md` in code.

mark       a mark; `position` is where its writer was
text       a mark as a line
names      names of a log's files; `files` is all that touches the disk
file_names names of files in marks, and which of them no source lists
times      times as users give them
skipped    lines that cannot be used
"""

from __future__ import annotations
