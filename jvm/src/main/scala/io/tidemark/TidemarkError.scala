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
    s"using the jar whose name begins with tidemark-spark-${minor(running)} (tidemark.jar_path() returns its path)")

  def javaTooOld(running: Int): TidemarkError = TidemarkError(
    "JAVA_TOO_OLD",
    s"Tidemark needs Java 17 or later, but this JVM is Java $running.",
    "setting JAVA_HOME to Java 17 or 21 before Spark starts")

  def duplicateKey(key: String, columns: Seq[String]): TidemarkError = TidemarkError(
    "DUPLICATE_KEY",
    if (columns.distinct.size > 1)
      s"The key '$key' is used by watermarks on different columns: ${columns.distinct.mkString(", ")}."
    else s"The key '$key' is used by ${columns.size} watermarks, on column '${columns.head}' of different inputs.",
    "giving each watermark its own key")

  def keyReadsAsAnother(key: String, column: String): TidemarkError = TidemarkError(
    "DUPLICATE_KEY",
    s"The key '$key' is also the generated name of another watermark of the query, on column '$column'. Tidemark numbers " +
      "watermarks that have the same name in this way.",
    "giving the watermark another key")

  def unionWatermarkPosition(position: Int, column: String, input: Int, others: Seq[String]): TidemarkError =
    TidemarkError(
      "UNION_WATERMARK_POSITION",
      s"Column '$column' at position $position of a union is event time, but input $input has its event time in " +
        s"${others.mkString("'", "', '", "'")}, not at that position.",
      "selecting the columns of all inputs in the same order, or by putting a watermark on that column")

  def unionInputLeftOut(input: Int, columns: Seq[String]): TidemarkError = TidemarkError(
    "UNION_INPUT_LEFT_OUT",
    s"Input $input of the union of ${columns.mkString("'", "', '", "'")} has no event time. As in stock Spark, the union " +
      "does not wait for that input, so its rows may be late.",
    "putting a watermark on its time column, if it has one")

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
    s"The watermark entry $file could not be written: $why. Its batch is not committed.",
    "freeing space in the checkpoint or granting permission to write to it, and restarting the query, which runs that batch again")

  def entryTooLong(file: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_TOO_LONG",
    s"The watermark entry $file would be longer than 2 GB.",
    "splitting the query's inputs by something that has shorter values, or fewer of them")

  def entryMissing(query: String, file: String): TidemarkError = TidemarkError(
    "CHECKPOINT_ENTRY_MISSING",
    s"The watermark entry $file is missing. Query $query has operators that carry a second event-time column, and only " +
      "that entry holds its oldest value in state.",
    "restoring the file from a backup, or by starting with a new checkpoint")

  def noLog(checkpoint: String, why: String = "it has no folder 'tidemark', or that folder is empty"): TidemarkError =
    TidemarkError(
      "NO_LOG",
      s"There is no watermark log in '$checkpoint': $why.",
      "giving the checkpoint location of a query that has completed a batch with Tidemark")

  def invalidSetting(key: String, value: String, values: Seq[String]): TidemarkError = TidemarkError(
    "INVALID_SETTING",
    s"The setting $key is '$value', but it must be ${oneOf(values)}.",
    "changing its value, or by unsetting it")

  def unknownSetting(key: String, nearest: String): TidemarkError = TidemarkError(
    "UNKNOWN_SETTING",
    s"There is no setting $key, so it would have no effect.",
    s"setting $nearest, if that is what you meant, and unsetting $key")

  def takeoverFailed(query: String, why: String): TidemarkError = TidemarkError(
    "TAKEOVER_FAILED",
    s"Tidemark could not attach to query $query: $why.",
    s"setting ${TidemarkConf.Enabled.key}=false to run the query as on stock Spark, and reporting this")

  def watermarkWentBack(query: String, why: String): TidemarkError = TidemarkError(
    "WATERMARK_WENT_BACK",
    s"Query $query was stopped before it could emit wrong rows: $why.",
    "reporting this with the query's plan")

  /** @param set what the setting is; the way out is another */
  def unboundedJoinSide(join: String, side: String, set: TidemarkConf.Unbounded): TidemarkError = TidemarkError(
    "UNBOUNDED_JOIN_SIDE",
    s"The $side side of the join $join keeps its rows forever, so the join may emit rows of any age.",
    s"adding a time condition that bounds the $side side, or setting ${TidemarkConf.UnboundedJoin.key} to " +
      oneOf(TidemarkConf.Unbounded.all.filterNot(_ == set).map(_.name)))

  def completeMode(operator: String): TidemarkError = TidemarkError(
    "COMPLETE_MODE",
    s"The $operator is written in complete mode, so it keeps every group forever and drops no late rows.",
    "writing in append or update mode, if the watermark should close groups")

  def timeInsideState(column: String, operator: String): TidemarkError = TidemarkError(
    "TIME_INSIDE_STATE",
    s"The event time inside column '$column' may have any age when it leaves the $operator. " +
      "Its row may be late at a later operator, as in stock Spark.",
    "grouping by a window of that time, or by keeping the time in a separate column")

  def leftToSpark(reason: String, asks: String): TidemarkError = TidemarkError(
    "LEFT_TO_SPARK",
    s"The query $asks, but stock Spark manages its watermarks because of $reason.",
    "removing that setting, or by using plain withWatermark only")

  def tooManySplits(column: String, splits: Int, most: Int): TidemarkError = TidemarkError(
    "TOO_MANY_SPLITS",
    s"The watermark on column '$column' has $splits splits, but ${TidemarkConf.MaxSplits.key} allows $most.",
    s"splitting by something with fewer values, or by raising ${TidemarkConf.MaxSplits.key}")

  def splitNamesTooLong(column: String): TidemarkError = TidemarkError(
    "TOO_MANY_SPLITS",
    s"The names of all splits of the watermark on column '$column' take more than 1 GB.",
    "splitting by something that has shorter values, or fewer of them")

  def splitNotOrderable(column: String, split: String, kind: String): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"The watermark on column '$column' is split by '$split', but values of type $kind cannot be ordered.",
    "splitting by a value that can be ordered, such as text or a number")

  def splitNotOfOneRow(split: String): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"The input is split by '$split', which does not give one value for each row.",
    "computing the value in an earlier step (such as explode or an aggregation), and splitting by the resulting column")

  def expectedSplitWidth(values: Int, expressions: Int): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"An expected split has $values values, but the input is split by $expressions expressions.",
    "giving each expected split a value for each expression")

  def expectedSplitType(text: String, split: String, kind: String): TidemarkError = TidemarkError(
    "INVALID_SPLITS",
    s"The expected split '$text' can never have rows: the input is split by '$split', and '$text' is not a value of type $kind.",
    "giving the text that Spark's cast of the value to STRING returns (timestamps in UTC, bytes as hex)")

  def invalidEventTime(why: String): TidemarkError = TidemarkError(
    "INVALID_EVENT_TIME",
    s"tidemark_event_time $why.",
    "calling it as tidemark.with_watermark does: as a whole column, with a timestamp column, its options as a JSON " +
      "literal, and the expressions to split by")

  def invalidOption(option: String, value: String, values: Seq[String]): TidemarkError = TidemarkError(
    "INVALID_OPTION",
    s"The watermark option $option is '$value', but it must be ${oneOf(values)}.",
    "changing its value, or by removing the option")

  def noWatermark(reading: String, columns: Seq[String]): TidemarkError = TidemarkError(
    "NO_WATERMARK",
    s"$reading finds no such watermark at this place in the query. " +
      (if (columns.isEmpty) "None of the columns here has one."
       else s"Columns with a watermark here: ${columns.mkString("'", "', '", "'")}."),
    "calling withWatermark before it, and naming a column that has a watermark here, or a key of the query")

  def watermarkNotRead(reading: String): TidemarkError = TidemarkError(
    "WATERMARK_NOT_READ",
    s"$reading is in a streaming query, but Tidemark did not provide the watermark of its batch.",
    "writing the stream with a sink that runs the plan Spark made for the batch, such as foreachBatch, and reporting this")

  def wrongArguments(function: String, takes: String, found: Int): TidemarkError = TidemarkError(
    "WRONG_ARGUMENTS",
    s"$function takes $takes, but was given $found arguments.",
    "calling it that way")

  private val restoring: String =
    "restoring the file from a backup, or by deleting the checkpoint's tidemark folder. Without the folder, the query " +
      "continues from Spark's own watermark, the minimum of all inputs. A query with an operator that carries a second " +
      "event-time column cannot continue without the file and needs a new checkpoint"

  private def oneOf(values: Seq[String]): String = values match {
    case Seq(only) => only
    case several => s"${several.init.mkString(", ")} or ${several.last}"
  }

  private def minor(version: String): String = version.split('.').take(2).mkString(".")
}
