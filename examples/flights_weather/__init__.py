"""The demo: a night of flights and weather, by stock Spark and by Tidemark.

Two live streams of New York's three airports are replayed one hour per step:
departures, and hourly weather. Every part runs the same query on the same files
twice, once in a plain Spark session and once in one that
``tidemark.configure(builder)`` made; nothing else differs.

Run it with ``make demo``, or with ``examples`` on the path::

    python -m flights_weather
"""
