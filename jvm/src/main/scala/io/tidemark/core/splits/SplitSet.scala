package io.tidemark.core.splits

/** Numbers of splits below `limit`, a bit for each. */
private[splits] final class SplitSet(limit: Int) {
  private val words = new Array[Long]((limit + 63) >>> 6)
  private var count = 0

  def size: Int = count

  /** Whether the number is new. */
  def add(split: Int): Boolean = {
    val bit = 1L << (split & 63)
    val isNew = (words(split >>> 6) & bit) == 0
    if (isNew) {
      words(split >>> 6) |= bit
      count += 1
    }
    isNew
  }

  def contains(split: Int): Boolean = (words(split >>> 6) & (1L << (split & 63))) != 0

  def remove(split: Int): Unit = if (contains(split)) {
    words(split >>> 6) &= ~(1L << (split & 63))
    count -= 1
  }

  /** All numbers, in order. */
  def toArray: Array[Int] = {
    val all = new Array[Int](count)
    var at, word = 0
    while (word < words.length) {
      var left = words(word)
      while (left != 0) {
        all(at) = (word << 6) + java.lang.Long.numberOfTrailingZeros(left)
        at += 1
        left &= left - 1
      }
      word += 1
    }
    all
  }
}
