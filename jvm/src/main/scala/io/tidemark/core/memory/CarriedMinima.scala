package io.tidemark.core.memory

import scala.collection.immutable.TreeMap

import io.tidemark.core.Watermark

/** The oldest values of carried columns that may still be in an operator's state. The state itself is not read.
  *
  * Rows are in buckets by the active column's time. A bucket has the smallest value of every carried column, and is
  * forgotten when eviction has passed its end. Beyond [[CarriedMinima.MaxBuckets]], neighboring buckets are merged. A
  * carried column then waits a little longer, and is never too early.
  *
  * @param widthMillis every bucket end is a multiple of it
  * @param buckets bucket end (ms, the last time that belongs to it) -> smallest value (ms) per carried column
  */
final case class CarriedMinima(widthMillis: Long, buckets: TreeMap[Long, Vector[Option[Long]]]) {

  /** The smallest value still in state of the `index`-th carried column. */
  def oldest(index: Int): Option[Long] =
    buckets.valuesIterator.flatMap(_.lift(index).flatten).minOption

  /** With the values that a batch brought in. */
  def add(that: CarriedMinima): CarriedMinima = {
    val width = math.max(widthMillis, that.widthMillis)
    val merged = that.widen(width).buckets.foldLeft(widen(width).buckets) { case (all, (end, values)) =>
      all.updated(end, all.get(end).fold(values)(CarriedMinima.least(_, values)))
    }
    CarriedMinima(width, merged).bounded
  }

  /** Without the buckets that eviction has passed. */
  def evict(upTo: Watermark): CarriedMinima =
    upTo.millis.fold(this)(millis => copy(buckets = buckets.rangeFrom(millis + 1)))

  private def widen(width: Long): CarriedMinima =
    if (width == widthMillis) this
    else
      CarriedMinima(
        width,
        buckets.foldLeft(TreeMap.empty[Long, Vector[Option[Long]]]) { case (all, (end, values)) =>
          val wide = CarriedMinima.bucketEnd(end, width)
          all.updated(wide, all.get(wide).fold(values)(CarriedMinima.least(_, values)))
        })

  private def bounded: CarriedMinima =
    if (buckets.size <= CarriedMinima.MaxBuckets) this else widen(math.max(widthMillis, 1L) * 2).bounded
}

object CarriedMinima {

  /** More buckets than this are merged two by two. */
  val MaxBuckets: Int = 4096

  val empty: CarriedMinima = CarriedMinima(1L, TreeMap.empty)

  /** The first multiple of `width` at or after `millis`: a time is evicted no later than its bucket's end. */
  def bucketEnd(millis: Long, width: Long): Long = Math.floorDiv(millis + width - 1, width) * width

  private def least(a: Vector[Option[Long]], b: Vector[Option[Long]]): Vector[Option[Long]] =
    a.zipAll(b, None, None).map {
      case (Some(x), Some(y)) => Some(math.min(x, y))
      case (x, y) => x.orElse(y)
    }
}
