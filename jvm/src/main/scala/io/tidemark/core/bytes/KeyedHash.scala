package io.tidemark.core.bytes

import java.lang.Long.rotateLeft
import java.security.SecureRandom

/** SipHash-1-3 (Aumasson and Bernstein, 2012) of a few words, under a key that only this process knows.
  *
  * The names of splits come from the rows, so whoever sends rows chooses them. With a public hash, names that collide
  * would make every look-up a scan. No hash leaves the process: neither the checkpoint nor a task result contains one.
  *
  * An instance is created for each hash and never leaves the method, so the JIT allocates no object for it.
  */
final class KeyedHash private[core] (key0: Long, key1: Long) {
  import KeyedHash._

  private var v0 = key0 ^ Init0
  private var v1 = key1 ^ Init1
  private var v2 = key0 ^ Init2
  private var v3 = key1 ^ Init3

  def this() = this(KeyedHash.Key0, KeyedHash.Key1)

  def add(word: Long): Unit = {
    v3 ^= word
    round()
    v0 ^= word
  }

  def result(): Long = {
    v2 ^= 0xff
    round()
    round()
    round()
    v0 ^ v1 ^ v2 ^ v3
  }

  private def round(): Unit = {
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
  }
}

object KeyedHash {
  private final val Init0 = 0x736f6d6570736575L
  private final val Init1 = 0x646f72616e646f6dL
  private final val Init2 = 0x6c7967656e657261L
  private final val Init3 = 0x7465646279746573L

  private val random = new SecureRandom
  private val Key0 = random.nextLong()
  private val Key1 = random.nextLong()
  private val Multiplier0 = random.nextLong() | 1
  private val Multiplier1 = random.nextLong() | 1

  /** The hash of one number, whose upper bits are the better ones. Two multiplications by secret numbers are enough
    * here, at a fraction of the cost.
    */
  def of(number: Long): Long = multiplied(multiplied(number ^ Key0, Multiplier0) ^ Key1, Multiplier1)

  // What follows is for a hash per row, where an object is too much: the JIT does not always see that it needs none. So
  // the rounds are written out. For the same words, the result is that of a `KeyedHash`.

  /** The hash of two words. */
  def of(first: Long, second: Long): Long = {
    var v0 = Key0 ^ Init0
    var v1 = Key1 ^ Init1
    var v2 = Key0 ^ Init2
    var v3 = Key1 ^ Init3
    v3 ^= first
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
    v0 ^= first
    v3 ^= second
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
    v0 ^= second
    v2 ^= 0xff
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
    v0 ^ v1 ^ v2 ^ v3
  }

  /** The hash of the words at some places of an array. */
  def of(words: Array[Long], from: Int, until: Int): Long = {
    var v0 = Key0 ^ Init0
    var v1 = Key1 ^ Init1
    var v2 = Key0 ^ Init2
    var v3 = Key1 ^ Init3
    var at = from
    while (at < until) {
      val word = words(at)
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
    v2 ^= 0xff
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
    v0 ^ v1 ^ v2 ^ v3
  }

  /** Both halves of the product. */
  private def multiplied(number: Long, by: Long): Long = Math.multiplyHigh(number, by) ^ number * by
}
