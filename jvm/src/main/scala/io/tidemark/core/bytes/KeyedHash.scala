package io.tidemark.core.bytes

import java.lang.Long.rotateLeft
import java.security.SecureRandom

/** SipHash-1-3 (Aumasson and Bernstein, 2012) of a few words, under a key that only this process knows.
  *
  * The names of splits come from the rows, so the sender of the rows chooses them. With a public hash, names that collide
  * would make every look-up a scan. No hash leaves the process: neither the checkpoint nor a task result contains one.
  */
object KeyedHash {
  private val random = new SecureRandom
  private val Key0 = random.nextLong()
  private val Key1 = random.nextLong()
  private val Multiplier0 = random.nextLong() | 1
  private val Multiplier1 = random.nextLong() | 1

  /** Hashes a number. Callers should use the upper bits, which are mixed better. Two multiplications by secret numbers
    * are enough here, at a fraction of the cost.
    */
  def of(number: Long): Long = multiplied(multiplied(number ^ Key0, Multiplier0) ^ Key1, Multiplier1)

  /** The hash of the words at some places of an array. */
  def of(words: Array[Long], from: Int, until: Int): Long = of(Key0, Key1, words, from, until)

  // An object with four fields would read better, but the JIT does not always see that a row needs none.
  private[core] def of(key0: Long, key1: Long, words: Array[Long], from: Int, until: Int): Long = {
    var v0 = key0 ^ 0x736f6d6570736575L
    var v1 = key1 ^ 0x646f72616e646f6dL
    var v2 = key0 ^ 0x6c7967656e657261L
    var v3 = key1 ^ 0x7465646279746573L
    var at = from
    while (at < until + LastRounds) {
      // A round without a word takes 0.
      val word = if (at < until) words(at) else 0L
      if (at == until) v2 ^= 0xff
      v3 ^= word
      v0 += v1
      v2 += v3
      v1 = rotateLeft(v1, 13) ^ v0
      v3 = rotateLeft(v3, 16) ^ v2
      v0 = rotateLeft(v0, 32)
      v2 += v1
      v0 += v3
      v1 = rotateLeft(v1, 17) ^ v2
      v3 = rotateLeft(v3, 21) ^ v0
      v2 = rotateLeft(v2, 32)
      v0 ^= word
      at += 1
    }
    v0 ^ v1 ^ v2 ^ v3
  }

  private final val LastRounds = 3

  /** Both halves of the product. */
  private def multiplied(number: Long, by: Long): Long = Math.multiplyHigh(number, by) ^ number * by
}
