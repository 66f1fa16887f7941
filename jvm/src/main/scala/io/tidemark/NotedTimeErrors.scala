package io.tidemark

/** The refusals of noted time: of mark logs, of watermarks that use them, and of queries that note their own time. */
object NotedTimeErrors {
  import ErrorText._

  final case class NoMarkLog(location: String, reason: String) extends TidemarkError(
        "NO_MARK_LOG",
        s"There is no mark log in '$location': $reason.",
        "giving the folder or the topic that the writers note their times in, and a topic's brokers")

  final case class MarkPositionMismatch(writer: String, position: String, other: String) extends TidemarkError(
        "MARK_POSITION_MISMATCH",
        s"Writer '$writer' notes a position of kind $position, which cannot be compared with $other.",
        "giving a position of the stream that the mark log is about, and by having a log for each stream")

  final case class MarkChainBroken(writer: String, location: String, number: Long) extends TidemarkError(
        "MARK_CHAIN_BROKEN",
        s"Marks of writer '$writer' before its mark $number are missing in '$location'. Later ones cannot be passed, because " +
          "each lists only the files since the one before, so the writer holds the watermark.",
        "putting the missing files of the log back, or by ending the writer's name and noting under another one")

  final case class MarksDamaged(writer: String, location: String) extends TidemarkError(
        "MARKS_DAMAGED",
        s"The newest lines of writer '$writer' in '$location' cannot be read, so what they say is unknown. The " +
          "writer holds the watermark.",
        "noting a time as this writer again, by putting back its files from a copy, or by removing them if the writer is gone " +
          "and nothing of it is left to read")

  final case class MarkPastEnd(writer: String, location: String, position: String, mark: String) extends TidemarkError(
        "MARK_PAST_END",
        s"The next mark of writer '$writer' in '$location', $mark, waits for $position. The input does not seem to have it.",
        "correcting the positions that the writer notes, or the path, topics and filters of the input")

  final case class MarkFarAhead(writer: String, location: String, time: String) extends TidemarkError(
        "MARK_FAR_AHEAD",
        s"Writer '$writer' has noted $time in '$location', which is too far ahead of the clock. It is not believed until its " +
          "time has come.",
        "correcting the writer, or by setting max_ahead if event times are not clock times")

  final case class MarksRemoved(location: String) extends TidemarkError(
        "MARKS_REMOVED",
        s"Older marks in '$location' were removed before this query has read them. A writer that has written no mark since then " +
          "is not known, so it does not hold the watermark, and its rows may be late.",
        "setting retention.ms of the topic to at least that of the rows, or by naming the writers in expected")

  final case class NotedSourceUnknown(column: String, reason: String) extends TidemarkError(
        "NOTED_SOURCE_UNKNOWN",
        s"The watermark on column '$column' uses the marks of writers, which cannot be compared with its input: $reason.",
        "giving noted= to an input that reads Kafka, files, one Delta table, or one source whose offset is a number")

  final case class NoKafkaConnector(location: String) extends TidemarkError(
        "NO_KAFKA_CONNECTOR",
        s"The mark log $location is a Kafka topic, but Spark's Kafka connector is not on the class path.",
        "starting Spark with --packages org.apache.spark:spark-sql-kafka-0-10_2.13:<the version of Spark>")

  final case class NotedNeedsDelay(column: String) extends TidemarkError(
        "NOTED_NEEDS_DELAY",
        s"dropDuplicatesWithinWatermark remembers a row for the delay of the watermark on column '$column', which is 0.",
        "giving the watermark a delay, which also holds it back, or by using dropDuplicates with the event time")

  final case class InvalidNoteTime(reason: String) extends TidemarkError(
        "INVALID_NOTE_TIME",
        s"tidemark_note_time $reason.",
        "calling it as tidemark.note_time does: as a whole column, with an event-time column and its options as a JSON literal")

  final case class NoteTimeNotEventTime(column: String, columns: Seq[String]) extends TidemarkError(
        "NOTE_TIME_NOT_EVENT_TIME",
        s"The query cannot note the time of column '$column', which is not event time. " +
          eventTimeHere(columns),
        "naming the column that withWatermark declares, or the window that was computed from it. The start of a window " +
          "is earlier than its time: note the window with less='1 hour', if that is its length")

  final case class NoteTimeDropped(column: String, operator: String) extends TidemarkError(
        "NOTE_TIME_DROPPED",
        s"The query notes the time of column '$column' below $operator, whose rows may be later or from elsewhere.",
        "calling note_time on the result, as the last step before writeStream")

  final case class NoteTimeCompleteMode(column: String) extends TidemarkError(
        "NOTE_TIME_COMPLETE_MODE",
        s"The query cannot note the time of column '$column': in complete mode, old rows are emitted again.",
        "using the output mode append or update")

  final case class NoteTimeNotPromised(column: String, operator: String) extends TidemarkError(
        "NOTE_TIME_NOT_PROMISED",
        s"The query cannot note the time of column '$column', because below it $operator may emit rows of any age.",
        "giving a join a time range, and by calling withWatermark again on a column that a Python map or a function with " +
          "state has made")

  final case class NoteTimeSinkUnknown(column: String, sink: String) extends TidemarkError(
        "NOTE_TIME_SINK_UNKNOWN",
        s"The query cannot note the time of column '$column', because the sink $sink does not say where its rows are.",
        "giving position=, such as 'kafka:orders', 'delta:/lake/orders' or 'files:/lake/orders', or by writing to files, " +
          "Delta, or a Kafka topic that is set as an option; and giving the location of the mark log")

  final case class MarkNotWritten(writer: String, location: String, reason: String) extends TidemarkError(
        "MARK_NOT_WRITTEN",
        s"The query could not note its time as writer '$writer' in the mark log $location: $reason.",
        "making the location writable, or by leaving out on_failure='fail', so that the query continues and notes later")
}
