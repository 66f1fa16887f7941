"""`kill -9` of running queries, over and over: no row is lost, doubled or changed.

Each case is a query over two inputs, of files or of a real Kafka broker, in small batches into
Parquet. It is run once undisturbed. Then again, and killed (Python and JVM) at a drawn moment: as
soon as a file of the checkpoint appears, a little later, or at any time; and started again from
its checkpoint, over and over, until it has come through. Both are given the last piece of the
input then, and what they have put out is compared, row for row.

The last piece comes afterwards because Spark, when it is started again, runs no batch before there is
something to read. A query that was killed between a batch and the one without data behind it puts
out what that one would have with the next rows.

The plan `noted` is another one: two queries, of which the second takes its watermark from the time
that the first notes, and the writers before them (`chain`).

Run it with ``make kill N=200``, or with ``examples`` on the path::

    python -m kills --kills 200 --seed 1
"""
