package io.tidemark.core.splits

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The keys with most rows, in bounded memory. */
class HeavyHittersSuite extends AnyFunSuite {

  private def counted(keys: Seq[String]): HeavyHitters = {
    val counter = new HeavyHitters.Counter[String](identity)
    keys.foreach(counter.add)
    counter.result(identity)
  }

  test("up to a thousand keys are counted exactly, in one part or in several") {
    val keys = (1 to HeavyHitters.Most).flatMap(n => Seq.fill(n % 7 + 1)(s"k$n"))
    val exact = keys.groupMapReduce(identity)(_ => 1L)(_ + _)
    val (left, right) = new Random(1).shuffle(keys).splitAt(700)
    for (all <- Seq(counted(keys), counted(left) + counted(right), counted(Nil) + counted(keys) + HeavyHitters.none))
      assert(all.most(HeavyHitters.Most).toMap === exact)
  }

  test("keys of one name are counted together") {
    val counter = new HeavyHitters.Counter[String](identity)
    Seq("a", "A", "b").foreach(counter.add)
    assert(counter.result(_.toLowerCase).most(10) === Seq("a" -> 2L, "b" -> 1L))
  }

  test("of any number of keys, those with most rows are found, with no more rows than they have") {
    for (seed <- 1 to 20) {
      val random = new Random(seed)
      // Many keys with few rows, and some with many that begin late.
      val rest = Seq.fill(30000)(s"k${random.nextInt(20000)}")
      val heavy = (1 to 10).flatMap(n => Seq.fill(300 + 50 * n)(s"heavy$n"))
      val (before, after) = rest.splitAt(15000)
      val keys = before ++ random.shuffle(after ++ heavy)
      val exact = keys.groupMapReduce(identity)(_ => 1L)(_ + _)
      val parts = keys.grouped(1 + random.nextInt(keys.size)).map(counted).toSeq
      val all = random.shuffle(parts).reduce(_ + _)
      assert(all.counts.size <= HeavyHitters.Most)
      for ((key, count) <- all.counts) {
        assert(count.rows <= exact(key), s"$key, seed $seed")
        assert(count.atMost >= exact(key), s"$key, seed $seed")
      }
      for ((key, count) <- exact if count > all.floor) assert(all.counts.contains(key), s"$key, seed $seed")
      // No row can move the limit by more than its share.
      assert(all.floor <= keys.size / HeavyHitters.Most * parts.size, s"seed $seed")
      if (parts.size < 4) assert(all.most(10).map(_._1).toSet === exact.keySet.filter(_.startsWith("heavy")))
    }
  }
}
