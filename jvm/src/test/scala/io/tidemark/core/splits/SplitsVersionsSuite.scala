package io.tidemark.core.splits

import java.lang.ref.WeakReference
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable

import io.tidemark.core.format.EntryCodec
import io.tidemark.core.support.{ManySplits, SplitsModel}

import SplitsModel._
import org.scalacheck.Gen
import org.scalatest.Assertions
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Splits are values, though their versions share what they are made of. */
class SplitsVersionsSuite extends AnyFunSuite with ScalaCheckPropertyChecks with Eventually {
  import SplitsVersionsSuite._

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200, sizeRange = 60)

  // Most changes are made to the newest version. The others are branches of an older one.
  private val steps = Gen.listOf(Gen.zip(Gen.frequency(3 -> Gen.const(0), 1 -> Gen.choose(0, 30)), change))

  private def versions(onReturn: OnReturn, steps: Seq[(Int, Change)])(each: Seq[Version] => Unit): Seq[Version] = {
    val all = mutable.ArrayBuffer(Version(Splits.none, SplitsModel(onReturn)))
    steps.foreach { case (age, change) =>
      all += all(math.max(0, all.size - 1 - age)).after(change)
      each(all.toSeq)
    }
    all.toSeq
  }

  for (onReturn <- Seq(OnReturn.Hold, OnReturn.CatchUp)) {
    test(
      s"every version of the splits says what a simple model says, in any order of changes and reads, with $onReturn") {
      forAll(steps, Gen.listOf(Gen.choose(0, 1000))) { (steps, reads) =>
        val all = versions(onReturn, steps) { soFar =>
          soFar.last.check()
          reads.lift(soFar.size).foreach(read => soFar(read % soFar.size).check())
        }
        all.reverseIterator.foreach(_.check())
        reads.foreach(read => all(read % all.size).check())
      }
    }

    test(s"the splits that have changed are those of a simple model, whichever versions are compared, with $onReturn") {
      forAll(steps, Gen.listOf(Gen.zip(Gen.choose(0, 1000), Gen.choose(0, 1000))), Gen.choose(0, 20)) {
        (steps, pairs, most) =>
          val all = versions(onReturn, steps) { soFar =>
            val (now, before) = (soFar.last, soFar(math.max(0, soFar.size - 4)))
            val changes = now.splits.changedSince(before.splits, Int.MaxValue)
            assert(changes.map(_.changed.toSeq) ===
              now.model.status.changedSince(before.model.status, changes.fold(0L)(_.laterMillis)))
          }
          pairs.foreach { case (first, second) =>
            val (now, before) = (all(first % all.size), all(second % all.size))
            val later = now.splits.changedSince(before.splits, Int.MaxValue).fold(0L)(_.laterMillis)
            assert(now.splits.changedSince(before.splits, most).map(_.changed.toSeq) ===
              now.model.status.changedSince(before.model.status, later).filter(_.size <= most))
          }
      }
    }

    test(
      s"a detached copy of any version stays as it is, and changes to it do not reach the original, with $onReturn") {
      forAll(steps, Gen.listOf(Gen.zip(Gen.choose(0, 1000), change))) { (steps, changes) =>
        val copies = mutable.ArrayBuffer.empty[Version]
        val all = versions(onReturn, steps) { soFar =>
          changes.lift(soFar.size).foreach { case (which, change) =>
            val version = soFar(which % soFar.size)
            val copy = version.copy(splits = version.splits.detached)
            assert(copy.splits eq version.splits.detached)
            copies ++= Seq(copy, copy.after(change))
          }
        }
        (all ++ copies).foreach(_.check())
        copies.foreach(copy => assert(copy.splits.hasNames(copy.splits.names)))
      }
    }
  }

  test("a time by which all splits become later counts as one change") {
    forAll(steps, Gen.choose(1L, 50L)) { (steps, more) =>
      val before = versions(OnReturn.Hold, steps)(_ => ()).last
      val now = before.model.now(0L)
      val later = before.splits.activeLater(more, now + more)
      val changes = later.changedSince(before.splits, 0)
      assert(changes.map(c => (c.size, c.changed.toSeq)) === Some(before.splits.size -> Nil))
      assert(changes.map(_.laterMillis) === Some(if (before.splits.size > 0) more else 0L))
      assert((0 until later.size).forall(i => later.lastActive(i) == before.splits.lastActive(i) + more))
      before.check()
    }
  }

  test("splits are as they were after a change that fails") {
    def times(name: String) = {
      val times = new MaxEventTimes
      times.observe(SplitNameTable.encode(Seq(Some("a"))), 70L)
      times.observe(SplitNameTable.encode(Seq(Some(name))), 50L)
      times
    }
    val small = Splits.of(new SplitNameTable(most = 8), new Coalescer())
    val before = small.observe(times("b"), 0L, 10L, OnReturn.Hold)
    val status = SplitsModel.status(before)
    intercept[SplitNameTable.TooLong](before.observe(times("too long"), 0L, 20L, OnReturn.Hold))
    assert(SplitsModel.status(before) === status)
    assert(before.observe(times("c"), 0L, 30L, OnReturn.Hold).size === 3)
  }

  test("another thread sees whole versions while the splits change") {
    // What is published with each version is the sum of its clocks.
    val published = new AtomicReference[(Splits, Long)]
    def sum(all: Splits): Long = (0 until all.size).map(all.clock(_).get).sum
    def times(splits: Iterable[Int], time: Long) = {
      val times = new MaxEventTimes
      splits.foreach(split => times.observe(ManySplits.nameOf(split), time + split))
      times
    }
    var now = Splits.none.observe(times(0 until 500, 0L), 0L, 0L, OnReturn.Hold)
    published.set(now -> sum(now))
    val isDone = new CompletableFuture[Unit]
    val read = CompletableFuture.supplyAsync { () =>
      var seen = 0
      while (!isDone.isDone || seen < 10) {
        val (splits, expected) = published.get
        val copy = splits.detached
        assert(sum(copy) == expected)
        assert(copy.name(copy.size - 1) == Seq(Some(s"device-${copy.size - 1}")))
        // A report asks what would be idle.
        assert(copy.idleSince(0L, OnReturn.Hold).size == copy.size && sum(copy) == expected)
        seen += 1
      }
      seen
    }
    for (batch <- 1 to 2000) {
      val some = (batch % 7 until now.size by 97) ++ Option.when(batch % 10 == 0)(now.size)
      // A branch with other names that is dropped, as a trigger makes that runs no batch.
      now.awake(Seq(SplitNameTable.encode(Seq(Some(s"other-$batch")))), batch.toLong, OnReturn.Hold)
      now = now.observe(times(some, batch.toLong * 1000), 0L, batch.toLong, OnReturn.Hold)
      published.set(now -> sum(now))
    }
    isDone.complete(())
    assert(read.get(60, TimeUnit.SECONDS) >= 10)
  }

  test("an entry keeps nothing of earlier batches in memory") {
    val query = new ManySplits(5)
    var last = EntryCodec.Written(query.next(0 until 2000), 0)
    val earlier = mutable.ArrayBuffer.empty[WeakReference[Splits]]
    for (_ <- 1 to 2000) {
      val splits = last.entry.origins.values.maxBy(_.splits.size).splits
      earlier ++= Seq(new WeakReference(splits), new WeakReference(splits.detached))
      val entry = query.next(query.some(0.01, 2000))
      last = EntryCodec.Written(entry, EntryCodec.encode(entry, Some(last)).checksum)
    }
    eventually(timeout(60.seconds)) {
      System.gc()
      assert(earlier.count(_.get != null) === 0)
    }
    assert(last.entry.splits === 2000)
  }
}

object SplitsVersionsSuite {

  /** A version of splits, and what it has to say. */
  private final case class Version(splits: Splits, model: SplitsModel) {
    def after(change: Change): Version =
      Version(changed(splits, change, model.now(change.passed), model.onReturn), model.after(change))

    def check(): Unit = Assertions.assert(SplitsModel.status(splits) == model.status)
  }
}
