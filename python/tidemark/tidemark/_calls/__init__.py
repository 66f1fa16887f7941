"""`map_async`: the function, and what its tasks run on a worker.

All but the function is sent to the workers by value, because they need not have Tidemark: it uses the
standard library and pyarrow only.

    map_async   the function
    shipping    what is sent, and what runs first on a worker
    arrow       batches of Arrow to rows of Python values, and results back
    older       the same for Spark 4.0, over pandas
    values      one value from and to Arrow
    objects     values that Arrow has as bytes, such as a VARIANT
    keys        which keys of a map are equal
    task        batches of rows to batches of results: the window, in the order of the rows
    rules       how calls are made, and what is said of their inputs
    worker      the thread with the event loop
    service     the client that is opened and closed in it
    calls       calls in flight: slots, time-outs, retries
    caller      one call of the function, in the loop or in a thread
    stuck       what keeps a slot though its row no longer waits for it
    queue       which row comes next, and one call at a time for a key
    watch       whether the event loop runs
    threads     where plain functions run
    executor    where an async function's own threads run
    call_id     what tells a repeated call from a new one
    stats       what the calls of a task were, for the progress of its batch
    errors      what a call, a result or a service may end with

On the driver only:

    options     what the function is given, checked
    udf         the UDF whose result is the new column
    kinds       which of Spark's types results and inputs may have
    pickling    how all this is pickled, for workers that may have no Tidemark
"""

from __future__ import annotations
