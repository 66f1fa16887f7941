package org.apache.spark.sql.tidemark.exec.clocks

/** What the tables of a task's clocks have in common. */
private[tidemark] object ClockTables {

  /** "No clock yet". No event time has this value: an event time in ms is a Long of µs divided by 1,000. */
  final val NoTime = Long.MinValue

  /** A table of fewer splits is close in memory, and no row waits in a queue. */
  final val FewSplits = 4096

  /** The most rows that the queue holds. */
  final val QueuedRows = 256

  /** Places of a table at the beginning; a power of 2, as the number of places always is. */
  final val FewestPlaces = 64
}
