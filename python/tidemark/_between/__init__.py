"""`read_between`: the rows of a range of a stream, by the batch readers of Spark.

read_between  the function
readers       chooses the reader of a range: `kafka`, `delta` or `files`; `source` is what to read
"""

from __future__ import annotations
