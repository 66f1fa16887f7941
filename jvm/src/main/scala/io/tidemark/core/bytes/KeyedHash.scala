package io.tidemark.core.bytes

import java.security.SecureRandom

/** SipHash-1-3 (Aumasson and Bernstein, 2012) of a few words, under a key that only this process knows.
  *
  * The names of splits come from the rows, so whoever sends rows chooses them. With a public hash, names that collide
  * would make every look-up a scan. No hash leaves the process: neither the checkpoint nor a task result contains one.
  *
  * An instance is created for each hash and never leaves the method, so the JIT allocates no object for it.
  */
final class KeyedHash private[core] (key0: Long, key1: Long) {
  private var v0 = key0 ^ 0x736f6d6570736575L
  private var v1 = key1 ^ 0x646f72616e646f6dL
  private var v2 = key0 ^ 0x6c7967656e657261L
  private var v3 = key1 ^ 0x7465646279746573L

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
    v1 = java.lang.Long.rotateLeft(v1, 13) ^ v0
    v3 = java.lang.Long.rotateLeft(v3, 16) ^ v2
    v0 = java.lang.Long.rotateLeft(v0, 32)
    v2 += v1
    v0 += v3
    v1 = java.lang.Long.rotateLeft(v1, 17) ^ v2
    v3 = java.lang.Long.rotateLeft(v3, 21) ^ v0
    v2 = java.lang.Long.rotateLeft(v2, 32)
  }
}

object KeyedHash {
  private val random = new SecureRandom
  private val Key0 = random.nextLong()
  private val Key1 = random.nextLong()
  private val Multiplier0 = random.nextLong() | 1
  private val Multiplier1 = random.nextLong() | 1

  /** The hash of one number, whose upper bits are the better ones. Two multiplications by secret numbers are enough
    * here, at a fraction of the cost.
    */
  def of(number: Long): Long = multiplied(multiplied(number ^ Key0, Multiplier0) ^ Key1, Multiplier1)

  /** Both halves of the product. */
  private def multiplied(number: Long, by: Long): Long = Math.multiplyHigh(number, by) ^ number * by
}
