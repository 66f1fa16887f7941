"""Much state of which little is due: the flights of January 2001, counted for each route and time of day.

A group is a route and the minute of the day at which its flights leave. All groups are in one
window of a month, so state grows for 31 days, and nothing in it is due until the month ends.
Inputs of half a day arrive one by one. Stock Spark scans all state twice for each input; Tidemark
scans it when the window ends.

Both engines emit the same rows, and those of a count in plain Python. Run it with
``make big-state``, or with ``examples`` on the path::

    python -m big_state
"""
