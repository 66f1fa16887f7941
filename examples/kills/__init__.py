"""`kill -9` of running queries, over and over: no row is lost, doubled or changed.

Each case is a query over two inputs, of files or of a real Kafka broker, in small batches into
Parquet. It is run once undisturbed. Then again, and killed (Python and JVM) at a drawn moment: as
soon as a file of the checkpoint appears, a little later, or at any time; and started again from
its checkpoint, until it has come through. What both runs have put out is compared, row for row.

Run it with ``make kill N=200``, or with ``examples`` on the path::

    python -m kills --kills 200 --seed 1
"""
