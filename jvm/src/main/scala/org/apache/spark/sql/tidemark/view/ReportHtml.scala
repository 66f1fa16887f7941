package org.apache.spark.sql.tidemark.view

import scala.xml.{Elem, NodeSeq, Xhtml}

/** A report as a part of a page: the sentence, drawings, and their numbers as tables.
  *
  * It is text in, markup out. The markup has no script, loads nothing, and escapes every name. Colours of the page stay, so it
  * suits a light and a dark one. It is below 1 MB for any report below 1 MB, and says in words what it leaves out.
  */
private[tidemark] object ReportHtml {
  private val MostHints = 10
  private val MostStrips = 4

  /** @param json what `tidemark_report` returns
    * @throws java.lang.IllegalArgumentException if that is not a JSON object
    */
  def fragment(json: String): String = fragment(Fields.read(json))

  private[view] def fragment(report: Fields): String = Xhtml.toXhtml(page(report))

  /** The same for a page that is made of nodes. */
  def markup(json: String): Elem = page(Fields.read(json))

  /** The drawings of the plan and of its history alone, as a file of its own in SVG. A report without a plan has none.
    * @throws java.lang.IllegalArgumentException if `json` is not a JSON object
    */
  def svg(json: String): String = {
    val report = Fields.read(json)
    val say = Say.in(report)
    val graph = Option.when(report.has("plan"))(new PlanGraph(report.at("plan"), Cause.of(report), say))
    val history = Past.of(report).filter(_.times.nonEmpty) match {
      case Some(past) => overTime(past, Cause.of(report), say)
      case None => Seq(Drawing("No history", Frame.Width, 40, Svg.text(10, 24, noHistory(report))))
    }
    val all = graph.flatMap(_.drawing).toSeq ++ history
    Xhtml.toXhtml(Drawing.stack("The plan, and event time, late rows and state over processing time", all).file)
  }

  private def page(report: Fields): Elem = {
    val say = Say.in(report)
    val tables = new Tables(report, say)
    <div style="font-family:sans-serif;font-size:13px;line-height:1.4">
      {heading(report)}
      {reason(report)}
      {hints(report)}
      {plan(report, say)}
      {history(report, say)}
      {strips(report, say)}
      {tables.inputs}
      {tables.operators}
    </div>
  }

  private def heading(report: Fields): Elem = {
    val query = report.at("query")
    val name = query.text("name").orElse(query.text("id")).getOrElse("?")
    val batch = report.long("batch").fold("no batch has ended yet")(n => s"batch ${Say.grouped(n)}")
    <p style="margin:0 0 6px"><b>{Say.name(name)}</b>{s", $batch"}</p>
  }

  private def reason(report: Fields): NodeSeq = {
    val why = report.at("why")
    val sentence = why.text("sentence").orElse(report.text("reason"))
    val colour = if (why.flag("is_trouble")) Svg.Alarm else Svg.hue(0)
    sentence.fold(NodeSeq.Empty) { text =>
      val fix = why.text("fix").fold("")(how => s" Fix this by $how.")
      <p style={s"margin:0 0 8px;padding:6px 12px;border-left:4px solid $colour"}><b>{Say.sentence(text)}</b>{
        Say.sentence(fix)
      }</p>
    }
  }

  private def hints(report: Fields): NodeSeq = {
    val all = report.list("hints").flatMap(_.text("message"))
    val more = all.size - MostHints
    val items = all.take(MostHints).map(hint => <li>{Say.sentence(hint)}</li>) ++
      Option.when(more > 0)(<li>{s"${Say.counted(more.toLong, "hint")} more."}</li>)
    if (items.isEmpty) NodeSeq.Empty else <ul>{items}</ul>
  }

  private def plan(report: Fields, say: Say): NodeSeq =
    if (!report.has("plan")) NodeSeq.Empty
    else {
      val graph = new PlanGraph(report.at("plan"), Cause.of(report), say)
      shown(graph.drawing) ++ graph.leftOut.map(left => <p>{left}</p>)
    }

  private def history(report: Fields, say: Say): NodeSeq =
    Past.of(report).filter(_.times.nonEmpty).fold[NodeSeq](<p>{noHistory(report)}</p>) { past =>
      shown(overTime(past, Cause.of(report), say)) ++
        new WatermarkLines(past, Cause.of(report), say).leftOut.map(left => <p>{left}</p>)
    }

  private def overTime(past: Past, cause: Option[Cause], say: Say): Seq[Drawing] =
    new WatermarkLines(past, cause, say).drawing +:
      Seq(LateBars.drawing(past, say), StateLine.drawing(past, say)).flatten

  private def noHistory(report: Fields): String =
    if (report.has("history")) "No batch has ended yet in this run, so there is no history to draw."
    else "This report has no history: the setting spark.tidemark.history is off."

  private def strips(report: Fields, say: Say): NodeSeq = {
    val split = report.list("inputs").filter(Inputs.isSplit)
    // The input that the sentence is about comes first.
    val all = split.sortBy(fields => fields.text("key") != Cause.of(report).map(_.key))
    val left = all.drop(MostStrips)
    val nouns = left.map(Inputs.noun).distinct.sorted.map(noun => s"${noun}s").mkString(" and ")
    shown(all.take(MostStrips).flatMap(new SplitStrip(_, say).drawing)) ++
      Option.when(left.nonEmpty)(<p>{
        s"The $nouns of ${Say.counted(left.size.toLong, "input")} more are left out."
      }</p>)
  }

  /** Drawings that are broader than the page are scrolled. */
  private def shown(drawings: IterableOnce[Drawing]): NodeSeq =
    drawings.iterator.map(drawing => <div style="overflow-x:auto;margin:8px 0">{drawing.svg}</div>).toSeq
}
