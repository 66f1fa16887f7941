package io.tidemark

import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.util.Try

import io.tidemark.core.memory.WhenIdle
import io.tidemark.core.splits.OnReturn

import org.apache.commons.text.similarity.LevenshteinDistance

import org.apache.spark.sql.catalyst.util.IntervalUtils

/** A typed setting: its name, what it does, its default, and how its text is read. */
final case class TidemarkConf[A](key: String, doc: String, default: A, since: String, values: Seq[String])(
    parse: String => Option[A]) {

  /** The value, given how a setting's text is looked up.
    * @throws TidemarkException when the text is none of `values`
    */
  def get(lookup: String => Option[String]): A = lookup(key).fold(default) { value =>
    read(value).getOrElse(throw new TidemarkException(TidemarkError.InvalidSetting(key, value, values)))
  }

  /** What a text means; `None`: it is none of `values`. */
  def read(text: String): Option[A] = parse(text.trim.toLowerCase(Locale.ROOT))
}

/** All settings; the table in docs/settings.md is made from this list. */
object TidemarkConf {

  val Enabled: TidemarkConf[Boolean] = TidemarkConf(
    "spark.tidemark.enabled",
    "Whether queries that start from now on get one watermark per event-time column. With false they run as on stock Spark.",
    default = true,
    since = "0.1.0",
    Seq("true", "false"))(_.toBooleanOption)

  /** What becomes of the watermark behind a join side whose state is never closed. */
  sealed abstract class UnboundedJoinPolicy(val name: String)
  object UnboundedJoinPolicy {
    case object Spark extends UnboundedJoinPolicy("spark")
    case object Hold extends UnboundedJoinPolicy("hold")
    case object Refuse extends UnboundedJoinPolicy("refuse")
    val all: Seq[UnboundedJoinPolicy] = Seq(Spark, Hold, Refuse)
  }

  val UnboundedJoin: TidemarkConf[UnboundedJoinPolicy] = oneOf[UnboundedJoinPolicy](
    "spark.tidemark.unboundedJoin",
    "What to do about a stream-stream join whose condition does not bound one side in time. Rows of that side stay in " +
      "state forever, so rows of any age may be emitted. With spark, the watermark advances with both inputs, as in " +
      "stock Spark, and the log and the report say so. With hold, the watermark of that side's columns is undefined " +
      "after the join, so operators there wait. With refuse, the query fails at start.",
    default = UnboundedJoinPolicy.Spark,
    UnboundedJoinPolicy.all)(_.name)

  /** The value that switches off a setting that takes a length of time. */
  val NoLength: String = "none"

  private[tidemark] val OneLength = Seq(NoLength, "a length of time above zero, such as 1 minute")

  private[tidemark] def length(text: String): Option[Option[Long]] =
    if (text == NoLength) Some(None) else millis(text).map(Some(_))

  /** The text is read as Spark reads a watermark's delay. */
  private def millis(text: String): Option[Long] =
    Try(IntervalUtils.getDuration(IntervalUtils.fromIntervalString(text), TimeUnit.MILLISECONDS)).toOption.filter(_ > 0)

  val IdleAfter: TidemarkConf[Option[Long]] = TidemarkConf(
    "spark.tidemark.idle.after",
    "How long a split, or an input without splits, may send no rows before the watermark stops waiting for it.",
    default = None: Option[Long],
    since = "0.1.0",
    OneLength)(length)

  private def choice[A](key: String, doc: String, default: A)(values: (String, A)*): TidemarkConf[A] =
    TidemarkConf(key, doc, default, since = "0.1.0", values.map(_._1))(values.toMap.get)

  private def oneOf[A](key: String, doc: String, default: A, values: Seq[A])(name: A => String): TidemarkConf[A] =
    choice(key, doc, default)(values.map(value => name(value) -> value): _*)

  val OnReturnOfSplit: TidemarkConf[OnReturn] = choice[OnReturn](
    "spark.tidemark.idle.onReturn",
    "What happens when an idle split becomes active again behind the watermark. With hold, the watermark waits until " +
      "the split has caught up. With catch_up, the split is left out until it has caught up.",
    default = OnReturn.Hold)("hold" -> OnReturn.Hold, "catch_up" -> OnReturn.CatchUp)

  val WhenAllIdle: TidemarkConf[WhenIdle] = choice[WhenIdle](
    "spark.tidemark.idle.whenAll",
    "What happens to an input while the whole input is idle. With hold, its splits and its watermark stay as they are, " +
      "so a pause makes no row late by that watermark. With rise, the watermark rises to the largest clock of its " +
      "splits. With advance, the watermark follows processing time less the delay, in steps of idle.after.",
    default = WhenIdle.Hold)("hold" -> WhenIdle.Hold, "rise" -> WhenIdle.Rise, "advance" -> WhenIdle.Advance)

  val MaxAhead: TidemarkConf[Option[Long]] = TidemarkConf(
    "spark.tidemark.maxAhead",
    "How far an event time may be ahead of the batch's processing time and still advance the watermark. Rows beyond " +
      "this limit are processed and counted, but one row dated 2100 does not make every later row late.",
    default = None: Option[Long],
    since = "0.1.0",
    OneLength)(length)

  val IdleAtJoin: TidemarkConf[Boolean] = choice(
    "spark.tidemark.idle.atJoin",
    "What a stream-stream join does while one side is idle. With hold, the join waits for that side. With follow, the " +
      "idle side takes the other side's watermark, and rows that still arrive on it are judged by that watermark.",
    default = false)("hold" -> false, "follow" -> true)

  val DowntimeIsSilence: TidemarkConf[Boolean] = TidemarkConf(
    "spark.tidemark.downtimeIsSilence",
    "Whether time in which a query was not running counts as silence of its inputs and splits. With true, idle times " +
      "also run while the query is stopped. That suits queries that run now and then on the data available.",
    default = false,
    since = "0.1.0",
    Seq("false", "true"))(_.toBooleanOption)

  val MaxSplits: TidemarkConf[Int] = TidemarkConf(
    "spark.tidemark.maxSplits",
    "How many splits an input may have. A query with more fails with an error. Each split takes about 60 bytes on the driver.",
    default = 2000000,
    since = "0.1.0",
    Seq("2000000", "another number above zero"))(_.toIntOption.filter(_ > 0))

  val ScanOnlyWhenDue: TidemarkConf[Boolean] = TidemarkConf(
    "spark.tidemark.scanOnlyWhenDue",
    "Whether an aggregation by windows scans its state, and asks for a no-data batch, only if a window may have ended. " +
      "With false it does both whenever the watermark has advanced, as in stock Spark. The rows are the same.",
    default = true,
    since = "0.1.0",
    Seq("true", "false"))(_.toBooleanOption)

  val EvictionSlack: TidemarkConf[Double] = TidemarkConf(
    "spark.tidemark.evictionSlack",
    "Which share of an operator's state may have expired before a batch evicts it. It applies to dropDuplicates with an " +
      "event-time column among its keys, and to inner stream-stream joins, from 10,000 rows in state on. The emitted rows " +
      "are the same. With 0 each batch evicts, as in stock Spark.",
    default = 0.125,
    since = "0.1.0",
    Seq("0.125", "another number from 0 to 1"))(_.toDoubleOption.filter(share => share >= 0 && share <= 1))

  /** What order operators get whose result depends on the order of their rows. */
  sealed abstract class OrderKept(val name: String)
  object OrderKept {
    case object Spark extends OrderKept("spark")
    case object Keep extends OrderKept("keep")
    case object EventTime extends OrderKept("event_time")
    val all: Seq[OrderKept] = Seq(Spark, Keep, EventTime)
  }

  val Order: TidemarkConf[OrderKept] = oneOf[OrderKept](
    "spark.tidemark.order",
    "In what order functions of groups and deduplications read their rows, where no in_order is below them. With " +
      "spark, in any. With keep, the rows of each group and source task come as that task has read them, as far as the " +
      "plan allows it. With event_time, rows wait and come by their event time, as if in_order stood below each such " +
      "operator with an event-time column.",
    default = OrderKept.Spark,
    OrderKept.all)(_.name)

  val RequireOrder: TidemarkConf[Boolean] = TidemarkConf(
    "spark.tidemark.requireOrder",
    "Whether a query fails if it has a function of groups, a deduplication or a limit whose rows are in no known order over " +
      "all batches. The error names the operator, and what has lost the order.",
    default = false,
    since = "0.1.0",
    Seq("false", "true"))(_.toBooleanOption)

  val History: TidemarkConf[Boolean] = choice(
    "spark.tidemark.history",
    "Whether a running query keeps what its watermarks have been, for the drawings of its report. It takes at most half " +
      "a MB on the driver, however long the query runs.",
    default = true)("on" -> true, "off" -> false)

  /** What becomes of a query whose plan has findings. */
  sealed abstract class Check(val name: String)
  object Check {
    case object Warn extends Check("warn")
    case object Refuse extends Check("refuse")
    case object Off extends Check("off")
    val all: Seq[Check] = Seq(Warn, Refuse, Off)
  }

  val CheckAtStart: TidemarkConf[Check] = oneOf[Check](
    "spark.tidemark.check",
    "What happens when a query starts whose plan keeps state forever, or waits forever, as explain finds it. With warn, " +
      "the log has a line for each finding, and reports have it as a hint. With refuse, the query fails before its first " +
      "batch, with all findings.",
    default = Check.Warn,
    Check.all)(_.name)

  /** What of Spark's web UI has the reports of queries. */
  sealed abstract class Ui(val name: String)
  object Ui {
    case object On extends Ui("on")
    case object Live extends Ui("live")
    case object Off extends Ui("off")
    val all: Seq[Ui] = Seq(On, Live, Off)
  }

  val WebUi: TidemarkConf[Ui] = oneOf[Ui](
    "spark.tidemark.ui",
    "Whether Spark's web UI has a tab with the report of each query. With on, reports are written into Spark's event log " +
      "too, if Spark writes one, and the History Server has the tab as well. With live, they are not. The names of splits " +
      "are part of a report.",
    default = Ui.On,
    Ui.all)(_.name)

  val all: Seq[TidemarkConf[_]] =
    Seq(
      Enabled,
      UnboundedJoin,
      IdleAfter,
      OnReturnOfSplit,
      WhenAllIdle,
      MaxAhead,
      IdleAtJoin,
      DowntimeIsSilence,
      MaxSplits,
      ScanOnlyWhenDue,
      EvictionSlack,
      Order,
      RequireOrder,
      History,
      CheckAtStart,
      WebUi)

  private val Prefix = "spark.tidemark."

  /** The first of these keys that reads like one of these settings and is none, with the nearest there is: Spark takes any
    * key, and it would do nothing.
    */
  def mistyped(keys: Iterable[String]): Option[(String, String)] = {
    val known = all.map(_.key)
    keys.filter(key => key.toLowerCase(Locale.ROOT).startsWith(Prefix) && !known.contains(key)).minOption.map { key =>
      key -> known.minBy(candidate =>
        math.min(
          distance(candidate.toLowerCase(Locale.ROOT), key.toLowerCase(Locale.ROOT)),
          distance(sorted(candidate), sorted(key))))
    }
  }

  private def distance(left: String, right: String): Int =
    LevenshteinDistance.getDefaultInstance.apply(left, right).intValue

  /** The words of a key in alphabetical order: `whenIdle` is near `idle.whenAll`. */
  private def sorted(key: String): String =
    key.split("\\.|(?=[A-Z])").map(_.toLowerCase(Locale.ROOT)).sorted.mkString(" ")
}
