package org.apache.spark.sql.tidemark.exec

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{LongType, TimestampType}

/** The times at which windows end: those of one `window(...)`, or of several that meet in a union. Times are µs since the
  * epoch.
  *
  * @param ends the ends of windows that have a time in them, as expressions over that time (the only input, a long)
  */
private[tidemark] final case class WindowGrid private (ends: Set[Expression]) {

  def ++(other: WindowGrid): WindowGrid = WindowGrid(ends ++ other.ends)

  /** The first end of a window after that time; `None` if there is none. */
  def next(afterMicros: Long): Option[Long] = {
    val time = InternalRow(afterMicros)
    // A time is in several sliding windows.
    ends.toSeq.flatMap(end => Option(end.eval(time)).map(_.asInstanceOf[Long])).filter(_ > afterMicros).minOption
  }

  /** Whether that window ends at another time. */
  def excludes(window: Expression): Expression = {
    val end = GetStructField(window, WindowGrid.EndOrdinal)
    val lastMicros = Subtract(PreciseTimestampConversion(end, TimestampType, LongType), Literal(1L))
    Not(ends.toSeq.map(made =>
      EqualTo(made.transformUp { case _: BoundReference => lastMicros }, end): Expression).reduce(Or(_, _)))
  }
}

private[tidemark] object WindowGrid {

  // Spark evicts by the second field of a struct.
  private val EndOrdinal = 1

  /** From the expression that makes a window; `None` if its end does not depend on one time alone. */
  def of(window: Expression): Option[WindowGrid] = {
    val end = window.collectFirst { case struct: CreateNamedStruct if struct.valExprs.size == 2 => struct.valExprs(1) }
    val byTime = end.map(_.transform {
      case PreciseTimestampConversion(_, TimestampType, LongType) => BoundReference(0, LongType, nullable = false)
    })
    byTime
      .filter(end => end.dataType == TimestampType && end.references.isEmpty && end.deterministic)
      .map(end => WindowGrid(Set(end)))
      .filter(grid => Try(grid.next(0L)).isSuccess)
  }
}
