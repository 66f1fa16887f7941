package io.tidemark.core.bytes

import java.util.BitSet

import io.tidemark.core.splits.SplitNameTable

import org.scalatest.funsuite.AnyFunSuite

class KeyedHashSuite extends AnyFunSuite {

  test("the hash of an empty message equals the published SipHash-1-3 vector") {
    // The one word of an empty message is its size.
    assert(KeyedHash.of(0x0706050403020100L, 0x0f0e0d0c0b0a0908L, Array(0L), 0, 1) === 0xabac0158050fc4dcL)
  }

  test("the hash of words does not depend on where in an array they are") {
    val words = Array.tabulate(9)(n => n * 0x9e3779b97f4a7c15L)
    for (from <- words.indices; until <- from to words.length)
      assert(KeyedHash.of(words, from, until) === KeyedHash.of(words.slice(from, until), 0, until - from))
  }

  test("names that collide in Java's string hash are found as fast as any others") {
    // "Aa" and "BB" have the same hash in Java, and so have all strings made of them: 65,536 of 32 letters.
    val colliding = (0 until 1 << 16).map(bits =>
      (0 until 16).map(at => if ((bits >> at & 1) == 0) "Aa" else "BB").mkString)
    assert(colliding.map(_.hashCode).distinct.size === 1)
    val hashes = colliding.map(name => SplitNameTable.encode(Seq(Some(name)))).map(name =>
      SplitNameTable.hash(name, 0, name.length))
    // In a table that is half full at most, a name takes the first free place from its hash on: 1.5 looks are expected.
    val taken = new BitSet
    val looks = hashes.map { hash =>
      val at = hash & 2 * colliding.size - 1
      val free = taken.nextClearBit(at)
      taken.set(free)
      free - at + 1L
    }
    assert(looks.sum < 2L * colliding.size)
  }
}
