package org.apache.spark.sql.tidemark.view

/** A report as text for a terminal: why nothing comes out, the inputs with their watermarks, the operators.
  *
  * Every line is one line whatever users have called their columns, splits and queries: what does not print is escaped. Fields
  * that are absent are left out.
  */
private[tidemark] object ReportText {
  private val Width = 100

  /** @param json what `tidemark_report` returns
    * @return lines without a line break at the end
    * @throws java.lang.IllegalArgumentException if that is not a JSON object
    */
  def of(json: String): String = text(Fields.read(json))

  private[view] def text(report: Fields): String = {
    val say = Say.in(report)
    val lines = why(report.at("why")) ++
      Seq(heading(report)) ++
      new InputText(say).lines(report.list("inputs")) ++
      outputs(report.list("outputs"), say) ++
      CallText.lines(report.list("calls")) ++
      hints(report.list("hints")) ++
      (if (report.has("plan")) new OperatorText(say).lines(report.at("plan")) else Nil)
    lines.map(Say.printable).mkString("\n")
  }

  /** The sentence, and what a user can do. */
  private def why(why: Fields): Seq[String] =
    why.text("sentence").filter(_.nonEmpty).toSeq.flatMap { sentence =>
      wrapped(sentence) ++ why.text("fix").toSeq.flatMap(fix => wrapped(s"Fix this by $fix."))
    }

  private def wrapped(text: String): Seq[String] =
    text.split(' ').foldLeft(Vector.empty[String]) {
      case (lines :+ last, word) if last.length + 1 + word.length <= Width => lines :+ s"$last $word"
      case (lines, word) => lines :+ word
    }

  private def heading(report: Fields): String = {
    val query = report.at("query")
    val name = Say.name(query.text("name").orElse(query.text("id")).getOrElse("?"))
    val batch = report.long("batch").fold("no batch has ended yet")(n => s"batch $n")
    if (!report.text("engine").contains("tidemark"))
      s"query $name: left to Spark (${report.text("reason").getOrElse("no reason given")})"
    else report.text("waiting_since") match {
      case Some(since) =>
        s"query $name, $batch: waiting for its first batch${if (since == "restart") " since the restart" else ""}"
      case None => s"query $name, $batch: one watermark per event-time column"
    }
  }

  private def outputs(outputs: Seq[Fields], say: Say): Seq[String] = {
    val lines = outputs.map { output =>
      val state = output.long("noted_ms").fold("nothing is noted yet")(at => s"noted ${say.time(Some(at))}")
      val failed = output.long("failures").filter(_ > 0).fold("")(n => s", $n marks could not be written")
      val where = s"writer ${output.text("writer").getOrElse("?")} in ${output.text("location").getOrElse("?")}"
      s"  ${Say.label(None, output.text("column"))}, $state, $where$failed"
    }
    Say.titled("noted for other queries", lines)
  }

  private def hints(hints: Seq[Fields]): Seq[String] =
    Say.titled(
      "hints",
      hints.map(hint => s"  ${hint.text("code").getOrElse("?")}: ${hint.text("message").getOrElse("")}"))
}
