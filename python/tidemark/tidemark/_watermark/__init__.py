"""What a user says of event time in a query.

with_watermark  the function, and its options: `options`, `idle`, `split_by`, `split_names`, `noted`
columns         finds the columns that are named; `durations` reads lengths of time
note_time       notes the time of a query's output in a mark log
in_order        rows by their event time
expressions     watermarks as columns
"""

from __future__ import annotations
