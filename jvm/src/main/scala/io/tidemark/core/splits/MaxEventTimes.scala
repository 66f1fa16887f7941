package io.tidemark.core.splits

import java.io.ObjectOutputStream
import java.util.Arrays

/** The largest event time (ms) of each split of an origin in a batch, or in one task of it. Merging takes the maximum, so
  * a task that runs twice changes nothing. Not thread-safe.
  */
final class MaxEventTimes private (val names: SplitNameTable, private var largest: Array[Long]) extends Serializable {

  def this(names: SplitNameTable = new SplitNameTable) = this(names, new Array[Long](8))

  def size: Int = names.size
  def isEmpty: Boolean = size == 0

  /** The largest event time of a split. */
  def apply(number: Int): Long = largest(number)

  def observe(name: Array[Byte], eventTimeMillis: Long): Unit = observe(name, name.length, eventTimeMillis)

  /** The same of a name that is the first `length` bytes of an array which may be used again. */
  def observe(name: Array[Byte], length: Int, eventTimeMillis: Long): Unit =
    raise(names.add(name, 0, length), eventTimeMillis)

  /** The same of a split that is known to be new. */
  def noteNew(name: Array[Byte], length: Int, eventTimeMillis: Long): Unit = {
    names.addNew(name, 0, length)
    raise(size - 1, eventTimeMillis)
  }

  /** Takes in another's splits, until there are more than `most`.
    * @throws SplitNameTable.TooLong when their names are too long together
    */
  def merge(that: MaxEventTimes, most: Int): Unit = that.foreachAddedTo(names, most)(raise)

  /** Adds the names of these splits to a table until it has more than `most`, and passes the number that each has there,
    * with its largest event time.
    */
  private[splits] def foreachAddedTo(all: SplitNameTable, most: Int = Int.MaxValue)(each: (Int, Long) => Unit): Unit = {
    val numbers, places = new Array[Int](SplitNameTable.Together)
    all.reserve(math.min(size, most))
    var done = 0
    while (done < size && all.size <= most) {
      val many = math.min(math.min(size - done, SplitNameTable.Together), most.toLong + 1 - all.size).toInt
      all.addAll(names, done, many, numbers, places)
      var i = 0
      while (i < many) {
        each(numbers(i), largest(done + i))
        i += 1
      }
      done += many
    }
  }

  /** The largest of all; none where there is no split. */
  def max: Option[Long] = Option.when(!isEmpty) {
    var max = Long.MinValue
    var number = 0
    while (number < size) {
      max = math.max(max, largest(number))
      number += 1
    }
    max
  }

  def copy(): MaxEventTimes = new MaxEventTimes(names.copy(), largest.clone())

  private def raise(number: Int, millis: Long): Unit = {
    if (number >= largest.length) largest = Arrays.copyOf(largest, math.max(number + 1, largest.length * 2))
    // Times before 1970 are below the 0 of a new place.
    if (number == filled) {
      largest(number) = millis
      filled += 1
    } else if (millis > largest(number)) largest(number) = millis
  }

  private var filled = names.size

  private def writeObject(out: ObjectOutputStream): Unit = {
    largest = Arrays.copyOf(largest, size)
    out.defaultWriteObject()
  }
}

object MaxEventTimes {

  /** What an input that is not split has had. */
  def whole(eventTimeMillis: Long): MaxEventTimes = {
    val times = new MaxEventTimes
    times.observe(SplitNameTable.Whole, eventTimeMillis)
    times
  }
}
