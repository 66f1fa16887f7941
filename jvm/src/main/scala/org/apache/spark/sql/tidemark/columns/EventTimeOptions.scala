package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import scala.jdk.CollectionConverters._

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.memory.{NotedBy, OriginRules, WhenIdle}
import io.tidemark.core.splits.{OnReturn, SplitNameTable}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.session.SessionConf
import org.apache.spark.sql.types.{Metadata, MetadataBuilder}

/** The options that a user set for one watermark. An option that is absent follows the session's setting.
  *
  * @param split the [[SplitMarker]] node that assigns rows to splits
  * @param expected texts of the splits that are known before their first row
  * @param noted the mark log of the input's writers
  * @param forgetAfterMillis how long a split may have no rows before it is forgotten
  * @param idleAfterMillis `Some(None)` means never, whatever the session's setting; the other options work the same way
  */
private[tidemark] final case class EventTimeOptions(
    key: Option[String],
    split: Option[UUID],
    expected: Seq[Seq[Option[String]]],
    idleAfterMillis: Option[Option[Long]],
    onReturn: Option[OnReturn],
    whenIdle: Option[WhenIdle],
    maxAheadMillis: Option[Option[Long]],
    followsInJoins: Option[Boolean],
    noted: Option[EventTimeOptions.Noted],
    forgetAfterMillis: Option[Long] = None) {

  /** The option that needs more than Spark's `withWatermark`, in words that follow "the query". */
  def needsTidemark(column: String): Option[String] =
    key.map(name => s"sets the watermark key '$name'").orElse(
      Option.when(goesBeyondSpark)(s"sets split_by, noted or idle options on column '$column'"))

  private def goesBeyondSpark: Boolean =
    copy(idleAfterMillis = idleAfterMillis.filter(_.nonEmpty), maxAheadMillis = maxAheadMillis.filter(_.nonEmpty)) !=
      EventTimeOptions.none

  /** Whether the watermark needs clocks beyond the largest event time that Spark's operator already tracks. The clocks of
    * writers come from their marks, and need no look at the rows.
    */
  def hasClocks(conf: SQLConf): Boolean =
    noted.isEmpty && (split.nonEmpty || maxAhead(conf).nonEmpty || idleAfter(conf).nonEmpty)

  // One mark moves the watermark for all rows, so marks always have a limit unless the user lifts it.
  private def maxAhead(conf: SQLConf): Option[Long] =
    maxAheadMillis.getOrElse(SessionConf.maxAhead(conf).orElse(noted.map(_ => EventTimeOptions.MostAheadOfMarks)))
  private def idleAfter(conf: SQLConf): Option[Long] = idleAfterMillis.getOrElse(SessionConf.idleAfter(conf))

  /** A split that holds the watermark must not be forgotten, so only idle ones are. */
  private def forgetAfter(conf: SQLConf): Option[Long] = {
    for (after <- forgetAfterMillis if idleAfter(conf).forall(_ > after))
      throw new TidemarkException(
        TidemarkError.InvalidOption(
          "forget_after",
          s"$after ms",
          Seq("used with idle_after, and not shorter than it: " +
            "only a split that is idle can be forgotten")))
    forgetAfterMillis
  }

  /** The names of the writers, if no others count. With another list, as with another log, the input loses its splits. */
  private def counted: Seq[String] =
    if (noted.exists(_.onlyExpected)) expected.flatten.flatten.sorted else Nil

  /** @param log where the marks of the writers are; `None` if the clocks come from the rows */
  def rules(delayMillis: Long, splitBy: Seq[String], log: Option[NotedBy], conf: SQLConf): OriginRules = OriginRules(
    delayMillis,
    // Another log has other writers, as another expression has other splits.
    log.fold(splitBy)(marks => s"writers of ${marks.location}" +: counted),
    expected.map(SplitNameTable.encode),
    idleAfter(conf),
    onReturn.getOrElse(SessionConf.onReturn(conf)),
    whenIdle.getOrElse(SessionConf.whenIdle(conf)),
    maxAhead(conf),
    followsInJoins.getOrElse(SessionConf.idleSideFollows(conf)),
    log,
    forgetAfterMillis = forgetAfter(conf))
}

private[tidemark] object EventTimeOptions {

  /** Column metadata with the key: the watermark's name in reports and in the checkpoint. */
  val KeyMetadata: String = "tidemark.key"

  /** Column metadata in which the other options travel through the plan, as JSON. */
  val Metadata: String = "tidemark.options"

  /** Column metadata that names the [[SplitMarker]] below. */
  val SplitMetadata: String = "tidemark.split"

  val none: EventTimeOptions = EventTimeOptions(None, None, Nil, None, None, None, None, None, None)

  /** @param location the mark log; `None` for the folder `_tidemark` in the path that is read
    * @param onlyExpected whether marks of writers that are not expected are ignored
    * @param options for a topic, how it is read; what is not named is as for the input
    */
  final case class Noted(location: Option[String], onlyExpected: Boolean, options: Map[String, String])

  private val MostAheadOfMarks = 24L * 60 * 60 * 1000

  private val mapper = new ObjectMapper

  /** The options of a watermark. Options travel with their column, so those of a watermark further up the stream are
    * ignored here: they come with its mark.
    */
  def of(origin: EventTimeWatermark): EventTimeOptions = of(origin.eventTime)

  /** @param column the event-time column, as the watermark's node has it */
  def of(column: Attribute): EventTimeOptions = if (EventTimeMarks.isMarked(column)) none else read(column)

  private def read(column: Attribute): EventTimeOptions = {
    def get(name: String) = Option.when(column.metadata.contains(name))(column.metadata.getString(name))
    get(Metadata).fold(none)(parse).copy(key = get(KeyMetadata), split = get(SplitMetadata).map(UUID.fromString))
  }

  private val all = Seq(KeyMetadata, Metadata, SplitMetadata)

  def areIn(metadata: Metadata): Boolean = all.exists(metadata.contains)

  def removed(metadata: Metadata): Metadata =
    if (!areIn(metadata)) metadata
    else {
      val kept = new MetadataBuilder().withMetadata(metadata)
      all.foreach(kept.remove)
      kept.build()
    }

  /** A column's metadata with these options, and without those of a watermark further up the stream.
    * @param expected the names of the expected splits, instead of the texts that the user gave
    * @throws TidemarkException if the text is not valid options
    */
  def write(
      before: Metadata,
      json: String,
      split: Option[UUID],
      expected: Seq[Seq[Option[String]]]): Metadata = {
    val kept = new MetadataBuilder().withMetadata(removed(before)).remove(EventTimeWatermark.delayKey)
    val options = parse(json)
    if (options.noted.nonEmpty && split.nonEmpty)
      throw invalid("is given both splits and a mark log, whose writers are the splits")
    if (options.forgetAfterMillis.nonEmpty && split.isEmpty)
      throw invalid("has the option 'forgetAfter', but no expressions to split by")
    options.key.foreach(kept.putString(KeyMetadata, _))
    split.foreach(id => kept.putString(SplitMetadata, id.toString))
    val others = mapper.readTree(json).asInstanceOf[ObjectNode].without[ObjectNode]("key")
    if (options.expected.nonEmpty)
      others.set[JsonNode]("expectedSplits", mapper.valueToTree[JsonNode](expected.map(_.map(_.orNull).asJava).asJava))
    // Spark 4.0 keeps a column's earlier metadata if it is given none.
    if (!others.isEmpty || kept.build() == new MetadataBuilder().build())
      kept.putString(Metadata, mapper.writeValueAsString(others))
    kept.build()
  }

  private val known = Set(
    "key",
    "idleAfter",
    "expectedSplits",
    "forgetAfter",
    "onReturn",
    "whenAll",
    "maxAhead",
    "atJoin",
    "noted",
    "notedOptions",
    "onlyExpected")

  /** @throws TidemarkException if the text is not valid options */
  def parse(json: String): EventTimeOptions = {
    val options = JsonOptions.read(json, known)(invalid)
    EventTimeOptions(
      options.text("key").map(requireName),
      None,
      options.field("expectedSplits").toSeq.flatMap(names),
      options.text("idleAfter").map(choice("idle_after", _, TidemarkConf.IdleAfter)),
      options.text("onReturn").map(choice("on_return", _, TidemarkConf.OnReturnOfSplit)),
      options.text("whenAll").map(choice("when_all", _, TidemarkConf.WhenAllIdle)),
      options.text("maxAhead").map(choice("max_ahead", _, TidemarkConf.MaxAhead)),
      options.text("atJoin").map(choice("at_join", _, TidemarkConf.IdleAtJoin)),
      noted(options),
      options.text("forgetAfter").flatMap(choice("forget_after", _, TidemarkConf.IdleAfter)))
  }

  private def noted(options: JsonOptions): Option[Noted] = {
    val onlyExpected = options.flag("onlyExpected").getOrElse(false)
    options.field("noted").map { log =>
      val location =
        if (log.isTextual && MarkLogPath.isLocation(log.asText)) Some(log.asText)
        else if (log.isBoolean && log.asBoolean) None
        else throw invalid(
          "has the option 'noted', which is neither a folder, nor kafka:<topic> or kafka:<topic>/<stream>, nor true")
      Noted(location, onlyExpected, options.texts("notedOptions"))
    }
  }

  private def requireName(key: String): String =
    if (key.isBlank) throw new TidemarkException(TidemarkError.InvalidOption("key", key, Seq("a name")))
    else key

  private def names(splits: JsonNode): Seq[Seq[Option[String]]] =
    if (splits.isArray) splits.elements().asScala.map(name).toSeq
    else throw invalid("has expected splits that are not a list")

  private def name(split: JsonNode): Seq[Option[String]] =
    if (!split.isArray) throw invalid("has an expected split that is not a list of texts")
    else
      split.elements().asScala.map { part =>
        if (part.isNull) None
        else if (part.isTextual) Some(part.asText)
        else throw invalid("has an expected split that is not a list of texts")
      }.toSeq

  private def choice[A](option: String, value: String, setting: TidemarkConf[A]): A =
    setting.read(value).getOrElse(throw new TidemarkException(TidemarkError.InvalidOption(
      option,
      value,
      setting.values)))

  private def invalid(why: String) = new TidemarkException(TidemarkError.InvalidEventTime(why))
}
