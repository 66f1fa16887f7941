package org.apache.spark.sql.tidemark.exec.clocks

/** What the tables of a task's clocks have in common. */
private[tidemark] object ClockTables {

  /** A time before any event time: event times are µs in Spark, so as ms they never reach this. */
  final val NoTime = Long.MinValue

  /** A table of fewer splits is close in memory, and no row waits in a queue. */
  final val FewSplits = 4096

  /** As many rows wait at most. */
  final val QueuedRows = 256

  /** Places of a table at the beginning; a power of 2, as the number of places always is. */
  final val FewestPlaces = 64
}
