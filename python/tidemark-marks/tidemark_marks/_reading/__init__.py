"""What a mark log says.

log          reads a folder; `purged` what was removed of it
rules        which marks count, and which are passed at a position
window       the time window of a position; `cut` is a position that divides a stream
ranges       what lies between two cuts
aggregation  all writers as one watermark; `awaited` are the writers it waits for
html         tables for a notebook
"""

from __future__ import annotations
