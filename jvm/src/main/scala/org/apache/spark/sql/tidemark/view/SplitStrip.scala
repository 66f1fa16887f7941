package org.apache.spark.sql.tidemark.view

import scala.xml.NodeSeq

/** The splits of an input, or its writers, that are furthest behind: a bar for each, as long as it is behind the furthest. */
private[view] final class SplitStrip(origin: Fields, say: Say) {
  import SplitStrip._

  private val key = Say.name(origin.text("key").getOrElse("?"))
  private val all = origin.at("splits")
  private val isNoted = Inputs.isNoted(origin)
  private val kind = s"${Inputs.noun(origin)}s"
  private val splits = all.list("furthest").take(MostSplits)
  private val most = math.max(1L, splits.flatMap(_.long("behind_ms")).maxOption.getOrElse(0L))

  def drawing: Option[Drawing] = Option.when(splits.nonEmpty) {
    Drawing(
      s"The $kind of $key that are furthest behind",
      Frame.Width,
      Top + splits.size * Row + 8,
      Svg.text(10, 20, heading, isBold = true) ++ splits.zipWithIndex.flatMap { case (split, at) =>
        bar(split, Top + at * Row)
      })
  }

  private def heading: String = {
    val total = all.long("total").getOrElse(splits.size.toLong)
    val shown =
      if (splits.size < total) s"the ${splits.size} furthest behind of ${Say.grouped(total)}" else s"all $total"
    s"${kind.capitalize} of $key that the watermark waits for: $shown"
  }

  private def bar(split: Fields, top: Int): NodeSeq = {
    val behind = split.long("behind_ms")
    val name = Say.brief(split.text("name").getOrElse("?"))
    val long = behind.fold(Across)(millis => Across * math.max(0L, millis) / most)
    val far = behind.fold(if (isNoted) "no noted time yet" else "no row with an event time yet")(millis =>
      s"${Say.length(millis)} behind")
    val catches = if (split.text("state").contains("catching_up")) ", catching up" else ""
    val heard =
      split.long("last_active_ms").fold("")(at => s", last ${if (isNoted) "news" else "row"} ${say.time(Some(at))}")
    Svg.text(Frame.Left + 40, top + 11, name, size = 11, anchor = "end") ++
      Svg.bar(Frame.Left + 48, top.toDouble, math.max(1.0, long), 12, Svg.Alarm, 0.75) ++
      Svg.text(Frame.Left + 48 + math.max(1.0, long) + 6, top + 11, far + catches + heard, size = 10)
  }
}

private[view] object SplitStrip {
  private val MostSplits = 50
  private val Top = 32
  private val Row = 17
  private val Across = 400.0
}
