"""What a user asks about queries, running or not.

report   the watermarks of a running query; `late` its late rows; `watch` and `plot` draw them
explain  what a query would wait for
log      the watermarks in a checkpoint; `offsets` what was read up to a time; `correct` changes them
"""

from __future__ import annotations
