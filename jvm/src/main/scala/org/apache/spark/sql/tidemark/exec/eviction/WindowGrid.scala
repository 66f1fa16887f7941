package org.apache.spark.sql.tidemark.exec.eviction

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{LongType, TimestampType}

/** The times at which windows end: those of one `window(...)`, or of several that meet in a union. Times are µs since the
  * epoch.
  */
private[tidemark] final case class WindowGrid private (windows: Set[WindowGrid.Windows]) {

  def ++(other: WindowGrid): WindowGrid = WindowGrid(windows ++ other.windows)

  /** The first end of a window after that time; `None` if it is not known of all of them. */
  def next(afterMicros: Long): Option[Long] = {
    val found = windows.toSeq.map(_.next(afterMicros))
    if (found.forall(_.nonEmpty)) found.flatten.minOption else None
  }

  /** Whether a window ends then. */
  def has(endMicros: Long): Boolean = windows.exists(_.has(endMicros))
}

private[tidemark] object WindowGrid {

  /** The windows of one `window(...)`.
    *
    * @param ends the ends of all windows that have a time in them, as expressions over that time (a long). There is one for
    *   tumbling windows; sliding windows that have ended, or that the time is not in, may be among theirs
    */
  final case class Windows private[WindowGrid] (ends: Seq[Expression]) {

    def next(afterMicros: Long): Option[Long] = {
      val time = InternalRow(afterMicros)
      // A slide is no longer than a window, so the first window to end after a time has that time in it.
      try ends.flatMap(end => Option(end.eval(time)).map(_.asInstanceOf[Long])).filter(_ > afterMicros).minOption
      // The ends of the last windows of all are later than a timestamp can be.
      catch { case _: ArithmeticException => None }
    }

    def has(endMicros: Long): Boolean = next(endMicros - 1).contains(endMicros)
  }

  /** From the expressions that make the windows a time is in; `None` if their ends do not lie on a grid. A user's struct may
    * look like a window, and the window of a session is made in the same way.
    */
  def of(windows: Seq[Expression]): Option[WindowGrid] = {
    val ends = windows.map(endByTime)
    if (ends.isEmpty || ends.exists(_.isEmpty)) None
    else {
      val group = Windows(ends.flatten)
      Option.when(Try(group.next(0L).exists(group.has)).getOrElse(false))(WindowGrid(Set(group)))
    }
  }

  private def endByTime(window: Expression): Option[Expression] = window match {
    case struct: CreateNamedStruct if struct.dataType.fieldNames.sameElements(Array("start", "end")) =>
      val end = struct.valExprs(1)
      val byTime = bare(end) match {
        case PreciseTimestampConversion(micros, LongType, TimestampType) => Some(micros.transform {
            case PreciseTimestampConversion(_, TimestampType, LongType) => BoundReference(0, LongType, nullable = false)
          })
        case _ => None
      }
      byTime.filter(end => end.references.isEmpty && end.deterministic)
    case _ => None
  }

  private def bare(expression: Expression): Expression = expression match {
    case tagged: TaggingExpression => bare(tagged.child)
    case other => other
  }
}
