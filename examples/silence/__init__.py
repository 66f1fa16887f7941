"""Two inputs in one count, one of which falls silent and comes back with all it has kept.

Forty steps, a minute of event time each, with twenty rows from either input. The second
input pauses for three steps, and brings their rows in the step after. From step 10 on it is
silent; two steps after the last one it comes back, with the 600 rows of the thirty steps
that it kept. The same replay three times:

- stock, ``multipleWatermarkPolicy=min``: the count waits for the silent input forever;
- stock, ``multipleWatermarkPolicy=max``: no input is waited for, neither silent nor slow;
- Tidemark with ``idle_after``: an input is waited for until it has been silent for that long.

Run it with ``make silence``, or with ``examples`` on the path::

    python -m silence
"""
