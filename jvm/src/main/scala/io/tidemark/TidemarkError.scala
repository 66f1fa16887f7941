package io.tidemark

import io.tidemark.core.why.Words

/** A refusal: a stable code, one sentence that says what happened and where, and the way out.
  *
  * Each refusal is a case of this class, in the object below or in that of its subject, such as [[CheckpointErrors]]. The
  * fields of the case are the parameters of its sentence. Their names are as stable as the codes, and docs/errors.md
  * lists them. Only Tidemark adds cases.
  *
  * The sentences are one line each, whatever the names in them are: what does not print is escaped, so that a name cannot
  * write lines into a log. The parameters have names as they are.
  */
abstract class TidemarkError private[tidemark] (val code: String, sentence: String, wayOut: String)
    extends Product with Serializable {
  import TidemarkError.LongestSentence

  val what: String = Words.legible(sentence, LongestSentence)
  val fix: String = Words.legible(wayOut, LongestSentence)

  def message: String = s"[TIDEMARK.$code] $what Fix this by $fix."

  /** The parameters by name, each as text; commas separate several values of one parameter. */
  def parameters: Map[String, String] = productElementNames.zip(productIterator.map {
    case several: Seq[_] => several.mkString(", ")
    case value => String.valueOf(value)
  }).toMap
}

/** The refusals of the engine that have no object of their own; Python has more, about jars and arguments. */
object TidemarkError {
  import ErrorText._

  private val LongestSentence = 20000

  final case class SparkVersionMismatch(builtFor: String, running: String) extends TidemarkError(
        "SPARK_VERSION_MISMATCH",
        s"This Tidemark jar is for Spark $builtFor, but the session runs Spark $running.",
        s"using the jar whose name begins with tidemark-spark-${minor(running)} (tidemark.jars.jar_path() returns its path)")

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

  /** @param how what is not the same, in words that follow a comma */
  final case class KeyTwice(key: String, column: String, how: String) extends TidemarkError(
        "DUPLICATE_KEY",
        s"The key '$key' is used by 2 watermarks on column '$column' of one input, $how.",
        "setting the watermark once, or by giving each its own key")

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

  final case class InputsChangedPlaces(key: String, names: Seq[String]) extends TidemarkError(
        "INPUTS_CHANGED_PLACES",
        s"Inputs with watermarks on '$key' have changed places since the last run, and nothing else tells these " +
          s"watermarks apart: ${quoted(names)}. All of them continue from the earliest of their watermarks, without " +
          "the splits of the last run.",
        "giving each watermark a key before the next change (from Spark 4.2 on, a name for each source is enough)")

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

  /** @param set what the setting is; the way out is another, so it is not a parameter of the sentence
    * @param range a condition that would bound the side
    */
  final case class UnboundedJoinSide(join: String, side: String)(
      set: TidemarkConf.UnboundedJoinPolicy,
      range: Option[String] = None)
      extends TidemarkError(
        "UNBOUNDED_JOIN_SIDE",
        s"The $side side of the join $join keeps its rows forever, so the join may emit rows of any age.",
        s"adding a time condition that bounds the $side side${range.fold("")(condition => s", such as $condition")}, " +
          s"or setting ${TidemarkConf.UnboundedJoin.key} to " +
          oneOf(TidemarkConf.UnboundedJoinPolicy.all.filterNot(_ == set).map(_.name)))

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
        s"running the query without $reason, or by leaving out what only Tidemark has")

  /** @param findings each with its code, its sentence and its way out */
  final case class PlanRefused(findings: Seq[String]) extends TidemarkError(
        "PLAN_REFUSED",
        s"${TidemarkConf.CheckAtStart.key}=refuse, and the plan of the query has findings: ${findings.mkString(" ")}",
        s"correcting them, or by setting ${TidemarkConf.CheckAtStart.key} to warn")

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

  final case class SplitCollation(column: String, split: String, collation: String) extends TidemarkError(
        "INVALID_SPLITS",
        s"The watermark on column '$column' is split by '$split', whose values are compared by the collation $collation. Which " +
          "of them are equal may change with the ICU library of another Spark or Java.",
        "splitting by the text in another collation, as in collate(..., 'UTF8_BINARY') or collate(..., 'UTF8_LCASE')")

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

  final case class NotStreaming(view: String) extends TidemarkError(
        "NOT_STREAMING",
        s"'$view' is not a streaming DataFrame, so no watermark is used in it.",
        "passing what readStream reads, or what is made of it")

  final case class WrongArguments(function: String, expected: String, arguments: Int) extends TidemarkError(
        "WRONG_ARGUMENTS",
        s"$function takes $expected, but was given $arguments arguments.",
        "calling it that way")

  final case class NotAReport(reason: String) extends TidemarkError(
        "NOT_A_REPORT",
        s"The text cannot be drawn as a report: $reason.",
        "passing what tidemark_report returns for a query")
}
