package org.apache.spark.sql.tidemark.support

import scala.collection.mutable

/** The rows that a stream-stream join must emit in each step, computed without Spark.
  *
  * Each side has its own clock. A row that is at or before its own clock (as it was when the step began) is late and is
  * never joined. A pair is emitted in the step of its later row. A row without a match is emitted alone in the step in
  * which the other side's clock passes everything that could match it. Times are minutes.
  *
  * @param matches whether a time of the left fits a time of the right (ids must be equal as well)
  * @param judged the time by which a row is late or is evicted: its own, or the end of its window
  * @param leftClosed up to which judged time the left side has no matches to come, given the right clock in ms
  * @param rightClosed the same for the right side
  */
final case class JoinOracle(
    matches: (Int, Int) => Boolean,
    judged: Int => Long,
    leftClosed: Long => Long,
    rightClosed: Long => Long) {
  import JoinOracle._

  /** The result of each step, and the number of late rows in all steps. */
  def run(kind: String, steps: Seq[(Seq[Row], Seq[Row])]): (Seq[Step], Int) = {
    val left = mutable.ArrayBuffer.empty[Kept]
    val right = mutable.ArrayBuffer.empty[Kept]
    var (leftClock, rightClock, late) = (0L, 0L, 0)
    val out = steps.map { case (newLeft, newRight) =>
      val accepted = (onTime(newLeft, leftClock), onTime(newRight, rightClock))
      late += newLeft.size + newRight.size - accepted._1.size - accepted._2.size
      val pairs = for {
        (l, isNew) <- left.toSeq.map(_ -> false) ++ accepted._1.map(_ -> true)
        r <- if (isNew) right.toSeq ++ accepted._2 else accepted._2
        if l.row._1 == r.row._1 && matches(l.row._2, r.row._2)
      } yield {
        val first = !l.matched
        l.matched = true
        r.matched = true
        (l, r, first)
      }
      left ++= accepted._1
      right ++= accepted._2
      leftClock = newest(newLeft, leftClock)
      rightClock = newest(newRight, rightClock)
      val lonelyLeft = leave(left, leftClosed(rightClock)).filterNot(_.matched)
      val lonelyRight = leave(right, rightClosed(leftClock)).filterNot(_.matched)
      val joined =
        if (kind == "left_semi") pairs.collect { case (l, _, true) => text(Some(l), None) }
        else pairs.map { case (l, r, _) => text(Some(l), Some(r)) }
      val alone =
        (if (kind == "left_outer" || kind == "full_outer") lonelyLeft.map(l => text(Some(l), None)) else Nil) ++
          (if (kind == "right_outer" || kind == "full_outer") lonelyRight.map(r => text(None, Some(r))) else Nil)
      def kept(side: Iterable[Kept]) = side.toSeq.map(k => k.row._1 -> judged(k.row._2))
      Step((joined ++ alone).sorted, Seq(kept(left), kept(right)))
    }
    (out, late)
  }

  private def onTime(rows: Seq[Row], clock: Long): Seq[Kept] =
    rows.filter { case (_, minute) => judged(minute) > clock }.map(new Kept(_))

  private def newest(rows: Seq[Row], clock: Long): Long =
    rows.map { case (_, minute) => millis(minute) }.foldLeft(clock)(_ max _)

  private def leave(state: mutable.ArrayBuffer[Kept], closed: Long): Seq[Kept] = {
    val gone = state.toSeq.filter(kept => judged(kept.row._2) <= closed)
    state --= gone
    gone
  }
}

object JoinOracle {

  /** An id, and a minute of the day of the tests. */
  type Row = (Int, Int)

  /** @param out rows that are emitted
    * @param kept id and judged time of every row that is in state when the step has ended, for each side
    */
  final case class Step(out: Seq[String], kept: Seq[Seq[(Int, Long)]])

  private final class Kept(val row: Row) { var matched = false }

  private def text(left: Option[Kept], right: Option[Kept]): String = {
    def one(kept: Option[Kept]) = kept.fold("-")(k => s"${k.row._1}@${k.row._2}")
    s"[${one(left)} ${one(right)}]"
  }

  private val Midnight = Histories.Noon.toEpochMilli - 12 * 3600000L

  def millis(minute: Int): Long = Midnight + minute * 60000L

  /** The right time is from `least` to `most` minutes after the left one. */
  def range(least: Int, most: Int): JoinOracle = JoinOracle(
    (l, r) => r >= l + least && r <= l + most,
    millis,
    clock => clock - most * 60000L - 1,
    clock => clock + least * 60000L - 1)

  /** The times are equal. */
  val equal: JoinOracle = JoinOracle(_ == _, millis, identity, identity)

  /** The times are in the same window of so many minutes. */
  def window(minutes: Int): JoinOracle = {
    def end(minute: Int) = (Math.floorDiv(minute, minutes) + 1) * minutes
    JoinOracle((l, r) => end(l) == end(r), minute => millis(end(minute)), identity, identity)
  }
}
