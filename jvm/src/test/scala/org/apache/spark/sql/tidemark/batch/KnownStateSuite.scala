package org.apache.spark.sql.tidemark.batch

import io.tidemark.core.{ColumnId, Input, OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.plan._

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.planning.EvictionSlack

/** What a run remembers of evictions, and how long state may wait because of it. */
class KnownStateSuite extends AnyFunSuite {

  private val hour = 3600 * 1000L
  private val begin = 1700000000000L
  private val join = OperatorId(0)
  private val left = Input(join, Side.Left)
  private val evictsAll = KnownState.OfBatch(Map.empty, Map(join -> 100000L), Map.empty, Set.empty, Set.empty)
  private val origin = PlanShape.Origin("withWatermark", OriginName("t", 0), ColumnId(0), PlanShape.Source("files"))

  private def at(millis: Long) = AttributedWatermark(Watermark.At(millis), None)

  /** The watermarks of one batch. Rows are evicted up to a time, if that is known. */
  private def watermarks(input: Long, evicted: Option[Long]): OperatorWatermarks = {
    val side = InputWatermarks(at(input), evicted.map(at), carried = Nil, closes = false)
    OperatorWatermarks(Map(left -> side), Map.empty, Propagation.levels(origin, Decision.none).root)
  }

  private def mayWait(known: KnownState, now: OperatorWatermarks): Boolean =
    EvictionSlack(0.125, known.rows, known.evictedMillis).mayWait(left, now, delayMillis = 0L)

  test("a side whose bound was not known has been evicted nowhere, and is evicted as soon as the bound is known") {
    val known = KnownState.atStart.after(evictsAll, watermarks(begin, None))
    assert(!mayWait(known, watermarks(begin + hour, Some(begin))))
    assert(known.evictedMillis === Map.empty)
  }

  test("a side waits until an eighth of what it keeps has expired") {
    val known = KnownState.atStart.after(evictsAll, watermarks(begin + 8 * hour, Some(begin)))
    assert(known.evictedMillis === Map(left -> begin))
    // Rows of nine hours are kept then, and an eighth of these is a little more than an hour.
    assert(mayWait(known, watermarks(begin + 9 * hour, Some(begin + hour))))
    assert(!mayWait(known, watermarks(begin + 10 * hour, Some(begin + 2 * hour))))
  }

  test("a batch that leaves expired rows in state does not count as an eviction") {
    val evicted = KnownState.atStart.after(evictsAll, watermarks(begin + 8 * hour, Some(begin)))
    val waited = evicted.after(evictsAll.copy(unscanned = Set(left)), watermarks(begin + 9 * hour, Some(begin + hour)))
    assert(waited.evictedMillis === evicted.evictedMillis)
    assert((evicted.skippedScans, waited.skippedScans) === (Map.empty -> Map(left -> 1L)))
  }
}
