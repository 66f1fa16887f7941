package io.tidemark

import java.util.Locale

/** A typed setting: its name, what it does, its default, and how its text is read. */
final case class TidemarkConf[A](key: String, doc: String, default: A, since: String, values: Seq[String])(
    parse: String => Option[A]) {

  /** The value, given how a setting's text is looked up.
    * @throws TidemarkException when the text is none of `values`
    */
  def get(lookup: String => Option[String]): A = lookup(key).fold(default) { value =>
    parse(value.trim.toLowerCase(Locale.ROOT)).getOrElse(
      throw new TidemarkException(TidemarkError.invalidSetting(key, value, values)))
  }
}

/** All settings; the table in docs/settings.md is made from this list. */
object TidemarkConf {

  val Enabled: TidemarkConf[Boolean] = TidemarkConf(
    "spark.tidemark.enabled",
    "Whether queries that start from now on get keyed watermarks. With false they run as Spark runs them.",
    default = true,
    since = "0.1.0",
    Seq("true", "false"))(_.toBooleanOption)

  /** What becomes of the watermark behind a join side whose state is never closed. */
  sealed abstract class Unbounded(val name: String)
  object Unbounded {
    case object Spark extends Unbounded("spark")
    case object Hold extends Unbounded("hold")
    case object Refuse extends Unbounded("refuse")
    val all: Seq[Unbounded] = Seq(Spark, Hold, Refuse)
  }

  val UnboundedJoin: TidemarkConf[Unbounded] = TidemarkConf(
    "spark.tidemark.unboundedJoin",
    "A side of a stream-stream join without a time condition keeps its rows for ever, so rows of any age may come " +
      "out. spark: its watermark goes on as far as both inputs, as in Spark, and the log and the report say so. hold: nothing is promised " +
      "downstream, operators there wait. refuse: the query fails at start.",
    default = Unbounded.Spark: Unbounded,
    since = "0.1.0",
    Unbounded.all.map(_.name))(text => Unbounded.all.find(_.name == text))

  val all: Seq[TidemarkConf[_]] = Seq(Enabled, UnboundedJoin)
}
