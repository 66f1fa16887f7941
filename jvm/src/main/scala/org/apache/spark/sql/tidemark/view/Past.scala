package org.apache.spark.sql.tidemark.view

/** The history of a report. All its lists are as long as `times`.
  * @param times when each batch ended, ms since the epoch
  * @param late how many rows of each batch were late, if that is known
  * @param state how many rows were in state after each batch, if that is known
  * @param inputs those that the history has numbers of
  * @param leftOut how many inputs the query has beyond those
  * @param batches how many batches the history was fed; more than it has points of, if the run is long
  */
private[view] final case class Past(
    times: IndexedSeq[Long],
    late: Option[IndexedSeq[Long]],
    state: Option[IndexedSeq[Long]],
    inputs: IndexedSeq[Past.InputMoment],
    leftOut: Long,
    batches: Long)

private[view] object Past {
  private val MostPoints = 512

  /** @param furthest what is furthest ahead, beside the watermark: the largest event time, or from a log the largest clock
    * @param furthestName in words
    */
  final case class InputMoment(
      key: String,
      watermarks: IndexedSeq[Option[Long]],
      furthest: IndexedSeq[Option[Long]],
      furthestName: String)

  /** `None` if the report has no history. */
  def of(report: Fields): Option[Past] = Option.when(report.has("history")) {
    val history = report.at("history")
    val times = history.longs("time_ms").flatten.takeRight(MostPoints)
    def column(of: Fields, name: String) = of.longs(name).takeRight(MostPoints).padTo(times.size, None).take(times.size)
    def counts(name: String) =
      Option.when(history.has(name))(column(history, name).map(_.getOrElse(0L)))
    Past(
      times,
      counts("late_rows"),
      counts("state_rows"),
      history.list("inputs").map { input =>
        val (name, words) =
          if (input.has("clock_ms")) ("clock_ms", "furthest clock") else ("max_event_time_ms", "largest event time")
        InputMoment(input.text("key").getOrElse("?"), column(input, "watermark_ms"), column(input, name), words)
      },
      history.long("inputs_left_out").getOrElse(0L),
      history.long("batches").getOrElse(times.size.toLong))
  }
}
