package io.tidemark.core.splits

import java.util.HashMap

import scala.jdk.CollectionConverters._

/** Which keys were counted most, in bounded memory.
  *
  * Up to [[HeavyHitters.Most]] keys are counted exactly. Beyond that, the keys with fewest rows are left out, and each number
  * is a lower bound. A key with more than `floor` rows is never left out. This is the Space-Saving summary of Metwally,
  * Agrawal and El Abbadi (2005), which leaves out many keys together, so that a row costs one look into a map.
  *
  * @param floor how many rows a key may have had that is not here
  */
final case class HeavyHitters(counts: Map[String, HeavyHitters.Count], floor: Long) {
  import HeavyHitters._

  def +(that: HeavyHitters): HeavyHitters =
    if (that.isEmpty) this
    else if (isEmpty) that
    else {
      val keys = counts.keySet ++ that.counts.keySet
      shortened(keys.iterator.map(key => key -> (of(key) + that.of(key))).toMap, floor + that.floor)
    }

  /** The keys with most rows, the most first, each with the rows that were surely counted. */
  def most(few: Int): Seq[(String, Long)] =
    counts.toSeq.map { case (key, count) => key -> count.rows }.sortBy { case (key, rows) => (-rows, key) }.take(few)

  private def isEmpty: Boolean = counts.isEmpty && floor == 0

  private def of(key: String): Count = counts.getOrElse(key, Count(0, floor))
}

object HeavyHitters {
  val Most = 1000

  val none: HeavyHitters = HeavyHitters(Map.empty, 0)

  /** The rows of a key.
    * @param missed how many more there may have been before the key was kept
    */
  final case class Count(rows: Long, missed: Long) {
    def +(that: Count): Count = Count(rows + that.rows, missed + that.missed)
    def atMost: Long = rows + missed
  }

  private def shortened(counts: Map[String, Count], floor: Long): HeavyHitters =
    if (counts.size <= Most) HeavyHitters(counts, floor)
    else {
      val (kept, rest) = counts.toSeq.sortBy { case (key, count) => (-count.atMost, key) }.splitAt(Most)
      HeavyHitters(kept.toMap, math.max(floor, rest.head._2.atMost))
    }

  /** Counts the keys of rows, one after the other.
    * @param copy makes a key that stays as it is, of a key that may change after the call
    */
  final class Counter[K](copy: K => K) {
    private val counts = new HashMap[K, Kept]
    private var floor = 0L

    def add(key: K): Unit = {
      val kept = counts.get(key)
      if (kept != null) kept.rows += 1
      else {
        if (counts.size >= 2 * Most) shorten()
        counts.put(copy(key), new Kept(1L, floor)): Unit
      }
    }

    private def shorten(): Unit = {
      val least = counts.values.asScala.map(_.count.atMost).toArray.sorted
      floor = least(least.length - Most)
      counts.values.removeIf(_.count.atMost <= floor): Unit
    }

    /** What was counted, by the names of the keys. */
    def result(name: K => String): HeavyHitters = {
      val named = counts.asScala.toSeq.groupMapReduce { case (key, _) => name(key) } { case (_, kept) =>
        kept.count
      }(_ + _)
      shortened(named, floor)
    }
  }

  private final class Kept(var rows: Long, missed: Long) {
    def count: Count = Count(rows, missed)
  }
}
