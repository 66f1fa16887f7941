"""What Spark reads of mark logs: the rows of a range of a stream, and the marks themselves.

read_between  the rows between two cuts, or two event times, by the batch readers of Spark
readers       chooses the reader of a range: `kafka`, `delta` or `files`; `source` is what to read
mark_table    the marks of a log as a DataFrame
"""

from __future__ import annotations
