package io.tidemark.core.memory

import io.tidemark.core.OriginName
import io.tidemark.core.bytes.{ByteReader, ByteWriter}
import io.tidemark.core.format.{EntryCodec, UncountedCodec}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}
import io.tidemark.core.support.WholeEntry

import org.scalatest.funsuite.AnyFunSuite

/** The time of a split's last rows, apart from the silence that counts. */
class UncountedSuite extends AnyFunSuite {

  import UncountedSuite._

  private val start = Run(OriginState(Splits.none), Map.empty)

  private def allKnown(run: Run): Unit = assert(run.found == run.real.view.mapValues(Some(_)).toMap)

  test("downtime and pauses leave the time of the last rows as it was") {
    val before = start.rows(10, "a", "b", "c").rows(20, "a", "b")
    allKnown(before)
    val restarted = before.missed(1000, 1020)
    allKnown(restarted)
    assert(restarted.state.splits.lastActive(0) == 1020)
    // Its batch may end in the same millisecond in which the query continues.
    allKnown(restarted.rows(1020, "b"))
    allKnown(restarted.rows(1030, "b").pause(500, 1530, "a").rows(1540, "c").missed(60, 1600).missed(0, 1600))
  }

  test("random histories: a last row is at its own time, or is not known") {
    val random = new scala.util.Random(7)
    for (_ <- 0 until 200) {
      var (run, now) = (start.rows(0, "a", "b", "c", "d"), 0L)
      for (_ <- 0 until 30) {
        val some = Seq("a", "b", "c", "d").filter(_ => random.nextInt(3) == 0)
        random.nextInt(5) match {
          case 0 =>
            now += 1 + random.nextInt(3)
            run = run.missed(now - run.state.splits.lastActiveOfAll.get, now)
          case 1 if some.nonEmpty =>
            val last = run.state.splits.lastActiveOfAll.get
            now += 1 + random.nextInt(5)
            run = run.pause(now - last, now, some: _*)
          case 2 if some.size < run.real.size => run = run.without(some: _*)
          case _ =>
            now += random.nextInt(3)
            run = run.rows(now, some: _*)
        }
        for ((split, found) <- run.found) assert(found.forall(_ == run.real(split)), split)
      }
      // The last times are remembered, so what has had rows lately is known.
      assert(run.rows(now + 1, "a").missed(5, now + 6).found("a").contains(now + 1))
    }
  }

  test("what does not count is bounded, and the bytes of it are read as they were written") {
    val many = (1 to 100).foldLeft(start.rows(0, "a", "b")) { (run, n) =>
      run.rows(10L * n, "a").missed(5, 10L * n + 5)
    }
    assert(many.state.uncounted.spans.size == 16)
    assert(many.found("b").isEmpty)
    assert(many.found("a").contains(1000L))
    val all = Seq(
      many.state.uncounted,
      Uncounted(
        Vector(
          Uncounted.Span(-5, 7, Uncounted.Only(Set(1, 300))),
          Uncounted.Span(9, 1, Uncounted.Unknown),
          Uncounted.Span(9, 1, Uncounted.AllBut(Set(2)))),
        Some(-100)))
    for (uncounted <- all) {
      val out = new ByteWriter
      UncountedCodec.write(out, uncounted)
      assert(UncountedCodec.read(new ByteReader(out.bytes, 0, out.size)) == uncounted)
    }
  }

  test("an entry keeps what does not count, and silence is that of the rule") {
    val restarted = start.rows(10, "a", "b").rows(20, "a").missed(1000, 1020)
    val named = OriginName("x", 0)
    val entry = WatermarkEntry.initial(Seq(named), 3, 0, 0).copy(
      endMillis = 1020,
      origins = Map(named -> restarted.state))
    val read = WholeEntry.decode(EntryCodec.encode(entry, None).data)
    assert(read == entry)
    val state = read.origins(named)
    assert(state.lastRows(1).contains(10L))
    assert(state.silentMillis(1, 1020, OriginRules(0)) == 10)
    assert(state.silentMillis(1, 1030, OriginRules(0, whenIdle = WhenIdle.Rise)) == 20)
    assert(state.lastRowsOfAll.contains(20L))
  }
}

private object UncountedSuite {
  private def name(split: String) = SplitNameTable.encode(Seq(Some(split)))

  private def times(splits: String*): MaxEventTimes = {
    val all = new MaxEventTimes
    splits.foreach(split => all.observe(name(split), 0L))
    all
  }

  /** An origin, step by step: its counted times, and when its splits really had rows. */
  final case class Run(state: OriginState, real: Map[String, Long]) {
    def rows(end: Long, splits: String*): Run = {
      val seen = times(splits: _*)
      val moved = state.splits.observe(seen, 0L, end, OnReturn.Hold)
      Run(
        state.copy(splits = moved, uncounted = state.uncounted.observed(moved, seen, end)),
        real ++ splits.map(_ -> end))
    }

    def missed(millis: Long, until: Long): Run = copy(state.copy(
      splits = state.splits.activeLater(millis, until),
      uncounted = state.uncounted.moving(state.splits, millis, until)))

    def without(splits: String*): Run = {
      def isGone(split: Int) = splits.contains(state.splits.name(split).head.get)
      Run(state.without(isGone), real -- splits)
    }

    /** The batch that ends a pause has rows of these. */
    def pause(millis: Long, until: Long, splits: String*): Run = missed(millis, until).rows(until, splits: _*)

    def found: Map[String, Option[Long]] = (0 until state.splits.size).map { split =>
      state.splits.name(split).head.get -> state.lastRows(split)
    }.toMap
  }
}
