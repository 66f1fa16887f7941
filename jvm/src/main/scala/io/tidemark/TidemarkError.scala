package io.tidemark

import org.apache.spark.SparkThrowable

/** A refusal: a stable code, one sentence that says what happened and where, and the way out. */
final case class TidemarkError(code: String, what: String, fix: String) {
  def message: String = s"[TIDEMARK.$code] $what Fix this by $fix."
}

/** Carries a [[TidemarkError]] to the user; `getCondition` gives `TIDEMARK.CODE`.
  *
  * An `IllegalArgumentException`, because PySpark has an error class for that, on Spark Connect too: its users see the
  * sentence, and not a hundred lines of Java with the sentence in them.
  */
final class TidemarkException(val error: TidemarkError, cause: Throwable = null)
    extends IllegalArgumentException(error.message, cause)
    with SparkThrowable {
  override def getCondition: String = s"TIDEMARK.${error.code}"
}

/** Every refusal of the engine, each with its code; Python has more of its own, about jars and arguments. */
object TidemarkError {

  def sparkVersionMismatch(built: String, running: String): TidemarkError = TidemarkError(
    "SPARK_VERSION_MISMATCH",
    s"This Tidemark jar is for Spark $built, but the session runs Spark $running.",
    s"using the jar whose name begins with tidemark-spark-${minor(running)} (tidemark.jar_path() names it)")

  def javaTooOld(running: Int): TidemarkError = TidemarkError(
    "JAVA_TOO_OLD",
    s"Tidemark needs Java 17 or later, but this JVM is Java $running.",
    "starting Spark with a newer JAVA_HOME")

  def duplicateKey(key: String, columns: Seq[String]): TidemarkError = TidemarkError(
    "DUPLICATE_KEY",
    if (columns.distinct.size > 1)
      s"The key '$key' names watermarks on different columns: ${columns.distinct.mkString(", ")}."
    else s"The key '$key' names ${columns.size} watermarks, on column '${columns.head}' of different inputs.",
    "giving each watermark a key of its own")

  def keyReadsAsAnother(key: String, column: String): TidemarkError = TidemarkError(
    "DUPLICATE_KEY",
    s"The key '$key' reads like the name of another watermark of the query, on column '$column': watermarks of one name " +
      "are numbered so.",
    "giving the watermark another key")

  def unionWatermarkPosition(position: Int, column: String, input: Int, others: Seq[String]): TidemarkError =
    TidemarkError(
      "UNION_WATERMARK_POSITION",
      s"Column '$column' at position $position of a union is event time, but input $input has its event time in " +
        s"${others.mkString("'", "', '", "'")} and not at that position.",
      "selecting the columns of all inputs in the same order, or by putting a watermark on that column")

  def unionInputLeftOut(input: Int, columns: Seq[String]): TidemarkError = TidemarkError(
    "UNION_INPUT_LEFT_OUT",
    s"Input $input of the union of ${columns.mkString("'", "', '", "'")} has no event time. It is left out, as in Spark: " +
      "the union does not wait for it, and its rows may be late.",
    "putting a watermark on its time, if it has one")

  def entryDamaged(file: String, why: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_DAMAGED",
    s"The watermark entry $file is damaged: $why.",
    restoring)

  def entryEmpty(file: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_EMPTY",
    s"The watermark entry $file is empty.",
    restoring)

  def entryNewer(file: String, version: Int, known: Int): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_NEWER",
    s"The watermark entry $file has format version $version; this Tidemark reads up to $known.",
    "using the Tidemark version that wrote it, or a later one")

  def entryNotWritten(file: String, why: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_NOT_WRITTEN",
    s"The watermark entry $file could not be written: $why. Its batch is not counted as done.",
    "giving the checkpoint room and the permission to write, and starting the query again: it runs that batch again")

  def entryTooLong(file: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_TOO_LONG",
    s"The watermark entry $file would be longer than 2 GB.",
    "splitting the inputs of the query by something shorter, or with fewer values")

  def entryMissing(query: String, file: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_MISSING",
    s"The watermark entry $file is missing, and query $query has operators that carry a second event-time column, " +
      "whose oldest value in state only that entry knows.",
    "restoring the file from a backup, or by starting with a new checkpoint")

  def noLog(checkpoint: String, why: String = "it has no folder 'tidemark', or nothing is in it yet"): TidemarkError =
    TidemarkError(
      "NO_LOG",
      s"There is no watermark log in '$checkpoint': $why.",
      "giving the checkpoint location of a query that has ended a batch with Tidemark")

  def invalidSetting(key: String, value: String, values: Seq[String]): TidemarkError = TidemarkError(
    "INVALID_SETTING",
    s"The setting $key is '$value', and it has to be ${oneOf(values)}.",
    "setting it to that, or by leaving it out")

  def unknownSetting(key: String, nearest: String): TidemarkError = TidemarkError(
    "UNKNOWN_SETTING",
    s"There is no setting $key, so that it would do nothing.",
    s"setting $nearest if that is what is meant, and leaving $key out")

  def takeoverFailed(query: String, why: String): TidemarkError = TidemarkError(
    "TAKEOVER_FAILED",
    s"Query $query could not be given keyed watermarks: $why.",
    s"setting ${TidemarkConf.Enabled.key}=false to run it as Spark does, and reporting this")

  def watermarkWentBack(query: String, why: String): TidemarkError = TidemarkError(
    "WATERMARK_WENT_BACK",
    s"Query $query was stopped before it could emit wrong rows: $why.",
    "reporting this with the query's plan")

  /** @param set what the setting is; the way out is another */
  def unboundedJoinSide(join: String, side: String, set: TidemarkConf.Unbounded): TidemarkError = TidemarkError(
    "UNBOUNDED_JOIN_SIDE",
    s"The $side side of the join $join keeps its rows for ever, so rows of any age may come out of it.",
    s"adding a time condition that bounds the $side side, or setting ${TidemarkConf.UnboundedJoin.key} to " +
      oneOf(TidemarkConf.Unbounded.all.filterNot(_ == set).map(_.name)))

  def completeMode(operator: String): TidemarkError = TidemarkError(
    "COMPLETE_MODE",
    s"The $operator is written in complete mode: it keeps every group for ever, and drops no late rows.",
    "writing in append or update mode, if its watermark is to close groups")

  def timeInsideState(column: String, operator: String): TidemarkError = TidemarkError(
    "TIME_INSIDE_STATE",
    s"The event time inside column '$column' may have any age when it leaves the $operator. " +
      "A row may be late by it further on, as in stock Spark.",
    "grouping by a window of that time, or by keeping the time in a column of its own")

  def leftToSpark(reason: String, asks: String): TidemarkError = TidemarkError(
    "LEFT_TO_SPARK",
    s"The query $asks, but its watermarks are Spark's own: $reason.",
    "removing that setting, or by using withWatermark alone")

  def tooManySplits(column: String, splits: Int, most: Int): TidemarkError = TidemarkError(
    "TOO_MANY_SPLITS",
    s"The watermark on column '$column' has $splits splits, and ${TidemarkConf.MaxSplits.key} allows $most.",
    s"splitting by something with fewer values, or setting ${TidemarkConf.MaxSplits.key} higher")

  def splitNamesTooLong(column: String): TidemarkError = TidemarkError(
    "TOO_MANY_SPLITS",
    s"The splits of the watermark on column '$column' have names of more than 1 GB together.",
    "splitting by something shorter, or with fewer values")

  def splitNotOrderable(column: String, split: String, kind: String): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"The watermark on column '$column' is split by '$split', which is of type $kind and has no order.",
    "splitting by a value that can be compared, such as text or a number")

  def splitNotOfOneRow(split: String): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"The input is split by '$split', which does not give one value for each row.",
    "computing it in a step before (exploding, or aggregating), and splitting by the column that it gives")

  def expectedSplitWidth(values: Int, expressions: Int): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"An expected split has $values values, but the input is split by $expressions expressions.",
    "giving each expected split a value for each expression")

  def expectedSplitType(text: String, split: String, kind: String): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"The expected split '$text' is never heard: the input is split by '$split', and '$text' is no value of type $kind.",
    "giving the text that Spark's cast of the value to STRING shows (of timestamps in UTC, of bytes as hex)")

  def invalidEventTime(why: String): TidemarkError = TidemarkError(
    "INVALID_EVENT_TIME",
    s"tidemark_event_time $why.",
    "calling it as tidemark.with_watermark does: as a whole column, with a timestamp column, its options as a JSON " +
      "literal, and the expressions to split by")

  def invalidOption(option: String, value: String, values: Seq[String]): TidemarkError = TidemarkError(
    "INVALID_OPTION",
    s"The option $option of a watermark is '$value', and it has to be ${oneOf(values)}.",
    "giving that, or leaving it out")

  def noWatermark(reading: String, columns: Seq[String]): TidemarkError = TidemarkError(
    "NO_WATERMARK",
    s"$reading: there is no such watermark where it is read. " +
      (if (columns.isEmpty) "None of the columns there has one."
       else s"These have one: ${columns.mkString("'", "', '", "'")}."),
    "calling withWatermark before it, and naming a column that has a watermark there, or a key of the query")

  def watermarkNotRead(reading: String): TidemarkError = TidemarkError(
    "WATERMARK_NOT_READ",
    s"$reading is in a streaming query, but nobody has told it the watermark of its batch.",
    "writing the stream by a sink that runs the plan which Spark has made of the batch, such as foreachBatch, and reporting this")

  def wrongArguments(function: String, takes: String, found: Int): TidemarkError = TidemarkError(
    "WRONG_ARGUMENTS",
    s"$function takes $takes, but was given $found arguments.",
    "calling it that way")

  private val restoring: String =
    "restoring the file from a backup, or by deleting the checkpoint's tidemark folder: the query then goes on from " +
      "Spark's own watermark, the minimum of all inputs (where an operator carries a second event-time column it is " +
      "refused, and needs a new checkpoint)"

  private def oneOf(values: Seq[String]): String = values match {
    case Seq(only) => only
    case several => s"${several.init.mkString(", ")} or ${several.last}"
  }

  private def minor(version: String): String = version.split('.').take(2).mkString(".")
}
