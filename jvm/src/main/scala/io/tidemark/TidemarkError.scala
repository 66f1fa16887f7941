package io.tidemark

/** A refusal: a stable code, one sentence that says what happened and where, and the way out.
  *
  * Each refusal is a case of this class. The fields of the case are the parameters of its sentence. Their names are as
  * stable as the codes, and docs/errors.md lists them.
  */
sealed abstract class TidemarkError(val code: String, val what: String, val fix: String)
    extends Product with Serializable {
  def message: String = s"[TIDEMARK.$code] $what Fix this by $fix."

  /** The parameters by name, each as text; commas separate several values of one parameter. */
  def parameters: Map[String, String] = productElementNames.zip(productIterator.map {
    case several: Seq[_] => several.mkString(", ")
    case one => String.valueOf(one)
  }).toMap
}

/** Every refusal of the engine, each with its code; Python has more of its own, about jars and arguments. */
object TidemarkError {
  import ErrorText._

  final case class SparkVersionMismatch(builtFor: String, running: String) extends TidemarkError(
        "SPARK_VERSION_MISMATCH",
        s"This Tidemark jar is for Spark $builtFor, but the session runs Spark $running.",
        s"using the jar whose name begins with tidemark-spark-${minor(running)} (tidemark.jar_path() returns its path)")

  final case class JavaTooOld(javaVersion: Int) extends TidemarkError(
        "JAVA_TOO_OLD",
        s"Tidemark needs Java 17 or later, but this JVM is Java $javaVersion.",
        "setting JAVA_HOME to Java 17 or 21 before Spark starts")

  final case class DuplicateKey(key: String, columns: Seq[String]) extends TidemarkError(
        "DUPLICATE_KEY",
        if (columns.distinct.size > 1)
          s"The key '$key' is used by watermarks on different columns: ${columns.distinct.mkString(", ")}."
        else s"The key '$key' is used by ${columns.size} watermarks, on column '${columns.head}' of different inputs.",
        "giving each watermark its own key")

  final case class KeyReadsAsAnother(key: String, column: String) extends TidemarkError(
        "DUPLICATE_KEY",
        s"The key '$key' is also the generated name of another watermark of the query, on column '$column'. Tidemark numbers " +
          "watermarks that have the same name in this way.",
        "giving the watermark another key")

  final case class UnionWatermarkPosition(position: Int, column: String, input: Int, eventTimes: Seq[String])
      extends TidemarkError(
        "UNION_WATERMARK_POSITION",
        s"Column '$column' at position $position of a union is event time, but input $input has its event time in " +
          s"${quoted(eventTimes)}, not at that position.",
        "selecting the columns of all inputs in the same order, or by putting a watermark on that column")

  final case class UnionInputLeftOut(input: Int, columns: Seq[String]) extends TidemarkError(
        "UNION_INPUT_LEFT_OUT",
        s"Input $input of the union of ${quoted(columns)} has no event time. As in stock Spark, the union " +
          "does not wait for that input, so its rows may be late.",
        "putting a watermark on its time column, if it has one")

  final case class EntryDamaged(file: String, reason: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_DAMAGED",
        s"The watermark entry $file is damaged: $reason.",
        RestoreEntry)

  final case class EntryEmpty(file: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_EMPTY",
        s"The watermark entry $file is empty.",
        RestoreEntry)

  final case class EntryNewer(file: String, version: Int, knownVersion: Int) extends TidemarkError(
        "CHECKPOINT_ENTRY_NEWER",
        s"The watermark entry $file has format version $version; this Tidemark reads up to $knownVersion.",
        "using the Tidemark version that wrote it, or a later one")

  final case class EntryNotWritten(file: String, reason: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_NOT_WRITTEN",
        s"The watermark entry $file could not be written: $reason. Its batch is not committed.",
        "freeing space in the checkpoint or granting permission to write to it, and restarting the query, which runs that batch again")

  final case class EntryTooLong(file: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_TOO_LONG",
        s"The watermark entry $file would be longer than 2 GB.",
        "splitting the query's inputs by something that has shorter values, or fewer of them")

  final case class EntryMissing(query: String, file: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_MISSING",
        s"The watermark entry $file is missing. Query $query has operators that carry a second event-time column, and only " +
          "that entry holds its oldest value in state.",
        "restoring the file from a backup, or by starting with a new checkpoint")

  final case class NoLog(checkpoint: String, reason: String = "it has no folder 'tidemark', or that folder is empty")
      extends TidemarkError(
        "NO_LOG",
        s"There is no watermark log in '$checkpoint': $reason.",
        "giving the checkpoint location of a query that has completed a batch with Tidemark")

  final case class NoCut(checkpoint: String, time: String, reason: String) extends TidemarkError(
        "NO_CUT",
        s"The log in '$checkpoint' has no batch for $time: $reason.",
        "asking for a time that the log covers. The setting spark.sql.streaming.minBatchesToRetain says how many batches " +
          "a query keeps")

  final case class NoMarkLog(location: String, reason: String) extends TidemarkError(
        "NO_MARK_LOG",
        s"There is no mark log in '$location': $reason.",
        "giving the folder that the writers note their times in")

  final case class MarkPositionMismatch(writer: String, position: String, other: String) extends TidemarkError(
        "MARK_POSITION_MISMATCH",
        s"Writer '$writer' has noted a position of kind $position, which cannot be compared with $other.",
        "giving a position of the stream that the mark log is about, and by having a log for each stream")

  final case class NotedSourceUnknown(column: String, reason: String) extends TidemarkError(
        "NOTED_SOURCE_UNKNOWN",
        s"The watermark on column '$column' goes by the marks of writers, which cannot be compared with its input: $reason.",
        "giving noted= to an input that reads Kafka, files, one Delta table, or one source whose offset is a number")

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
          (if (columns.isEmpty) "None of the columns here is." else s"Event time here: ${quoted(columns)}."),
        "naming the column that withWatermark declares, or the window that was computed from it. The start of a window " +
          "is earlier than its time: note the window with less='1 hour', if that is its length")

  final case class NoteTimeDropped(column: String, operator: String) extends TidemarkError(
        "NOTE_TIME_DROPPED",
        s"The query notes the time of column '$column' below $operator, whose rows may be later or from elsewhere.",
        "calling note_time on the result, as the last step before writeStream")

  final case class NoteTimeCompleteMode(column: String) extends TidemarkError(
        "NOTE_TIME_COMPLETE_MODE",
        s"The query cannot note the time of column '$column': in complete mode, old rows come out again.",
        "using the output mode append or update")

  final case class NoteTimeNotPromised(column: String, operator: String) extends TidemarkError(
        "NOTE_TIME_NOT_PROMISED",
        s"The query cannot note the time of column '$column', because below it $operator may emit rows of any age.",
        "giving a join a time range, and by calling withWatermark again on a column that a Python map or a function with " +
          "state has made")

  final case class NoteTimeSinkUnknown(column: String, sink: String) extends TidemarkError(
        "NOTE_TIME_SINK_UNKNOWN",
        s"The query cannot note the time of column '$column', because the sink $sink does not tell where its rows are.",
        "giving position=, such as 'kafka:orders', 'delta:/lake/orders' or 'files:/lake/orders', or by writing to files, " +
          "Delta, or a Kafka topic that is set as an option; and giving the location of the mark log")

  final case class MarkNotWritten(writer: String, location: String, reason: String) extends TidemarkError(
        "MARK_NOT_WRITTEN",
        s"The query could not note its time as writer '$writer' in the mark log $location: $reason.",
        "making the location writable, or by leaving out on_failure='fail', so that the query goes on and notes later")

  final case class InvalidSetting(setting: String, value: String, allowed: Seq[String]) extends TidemarkError(
        "INVALID_SETTING",
        s"The setting $setting is '$value', but it must be ${oneOf(allowed)}.",
        "changing its value, or by unsetting it")

  final case class UnknownSetting(setting: String, nearest: String) extends TidemarkError(
        "UNKNOWN_SETTING",
        s"There is no setting $setting, so it would have no effect.",
        s"setting $nearest, if that is what you meant, and unsetting $setting")

  final case class TakeoverFailed(query: String, reason: String) extends TidemarkError(
        "TAKEOVER_FAILED",
        s"Tidemark could not attach to query $query: $reason.",
        s"setting ${TidemarkConf.Enabled.key}=false to run the query as on stock Spark, and reporting this")

  final case class WatermarkWentBack(query: String, reason: String) extends TidemarkError(
        "WATERMARK_WENT_BACK",
        s"Query $query was stopped before it could emit wrong rows: $reason.",
        "reporting this with the query's plan")

  /** @param set what the setting is; the way out is another, so it is no parameter of the sentence */
  final case class UnboundedJoinSide(join: String, side: String)(set: TidemarkConf.Unbounded) extends TidemarkError(
        "UNBOUNDED_JOIN_SIDE",
        s"The $side side of the join $join keeps its rows forever, so the join may emit rows of any age.",
        s"adding a time condition that bounds the $side side, or setting ${TidemarkConf.UnboundedJoin.key} to " +
          oneOf(TidemarkConf.Unbounded.all.filterNot(_ == set).map(_.name)))

  final case class CompleteMode(operator: String) extends TidemarkError(
        "COMPLETE_MODE",
        s"The $operator is written in complete mode, so it keeps every group forever and drops no late rows.",
        "writing in append or update mode, if the watermark should close groups")

  final case class TimeInsideState(column: String, operator: String) extends TidemarkError(
        "TIME_INSIDE_STATE",
        s"The event time inside column '$column' may have any age when it leaves the $operator. " +
          "Its row may be late at a later operator, as in stock Spark.",
        "grouping by a window of that time, or by keeping the time in a separate column")

  final case class LeftToSpark(reason: String, need: String) extends TidemarkError(
        "LEFT_TO_SPARK",
        s"The query $need, but stock Spark manages its watermarks because of $reason.",
        s"running the query without $reason, or by using plain withWatermark only")

  final case class TooManySplits(column: String, splits: Int, maxSplits: Int) extends TidemarkError(
        "TOO_MANY_SPLITS",
        s"The watermark on column '$column' has $splits splits, but ${TidemarkConf.MaxSplits.key} allows $maxSplits.",
        s"splitting by something with fewer values, or by raising ${TidemarkConf.MaxSplits.key}")

  final case class SplitNamesTooLong(column: String) extends TidemarkError(
        "TOO_MANY_SPLITS",
        s"The names of all splits of the watermark on column '$column' take more than 1 GB.",
        "splitting by something that has shorter values, or fewer of them")

  final case class SplitNotOrderable(column: String, split: String, dataType: String) extends TidemarkError(
        "INVALID_SPLITS",
        s"The watermark on column '$column' is split by '$split', but values of type $dataType cannot be ordered.",
        "splitting by a value that can be ordered, such as text or a number")

  final case class SplitNotOfOneRow(split: String) extends TidemarkError(
        "INVALID_SPLITS",
        s"The input is split by '$split', which does not give one value for each row.",
        "computing the value in an earlier step (such as explode or an aggregation), and splitting by the resulting column")

  final case class ExpectedSplitWidth(values: Int, expressions: Int) extends TidemarkError(
        "INVALID_SPLITS",
        s"An expected split has $values values, but the input is split by $expressions expressions.",
        "giving each expected split a value for each expression")

  final case class ExpectedSplitType(value: String, split: String, dataType: String) extends TidemarkError(
        "INVALID_SPLITS",
        s"The expected split '$value' can never have rows: the input is split by '$split', and '$value' is not a value of type $dataType.",
        "giving the text that Spark's cast of the value to STRING returns (timestamps in UTC, bytes as hex)")

  final case class InvalidEventTime(reason: String) extends TidemarkError(
        "INVALID_EVENT_TIME",
        s"tidemark_event_time $reason.",
        "calling it as tidemark.with_watermark does: as a whole column, with a timestamp column, its options as a JSON " +
          "literal, and the expressions to split by")

  final case class InvalidOption(option: String, value: String, allowed: Seq[String]) extends TidemarkError(
        "INVALID_OPTION",
        s"The watermark option $option is '$value', but it must be ${oneOf(allowed)}.",
        "changing its value, or by removing the option")

  final case class NoWatermark(expression: String, columns: Seq[String]) extends TidemarkError(
        "NO_WATERMARK",
        s"$expression finds no such watermark at this place in the query. " +
          (if (columns.isEmpty) "None of the columns here has one."
           else s"Columns with a watermark here: ${quoted(columns)}."),
        "calling withWatermark before it, and naming a column that has a watermark here, or a key of the query")

  final case class WatermarkNotRead(expression: String) extends TidemarkError(
        "WATERMARK_NOT_READ",
        s"$expression is in a streaming query, but Tidemark did not provide the watermark of its batch.",
        "writing the stream with a sink that runs the plan Spark made for the batch, such as foreachBatch, and reporting this")

  final case class WrongArguments(function: String, expected: String, arguments: Int) extends TidemarkError(
        "WRONG_ARGUMENTS",
        s"$function takes $expected, but was given $arguments arguments.",
        "calling it that way")
}
