package org.apache.spark.sql.tidemark.view

/** A report with what people read of it. */
private[tidemark] object ReportPage {

  /** The same report with `text` and `html`, and `watermark` as text in each of its inputs.
    * @param json what the engine says of a query
    */
  def rendered(json: String): String =
    Fields.rendered(json)(
      ReportText.text,
      ReportHtml.fragment,
      report => { val say = Say.in(report); input => say.time(input.long("watermark_ms")) })
}
