package io.tidemark.core.support

import scala.collection.immutable.TreeMap

import io.tidemark.core.{CarriedSlot, Input, OperatorId, OriginName, Side, UnionSlot, Watermark}
import io.tidemark.core.memory.{CarriedMinima, Correction, OriginSources, OriginState, ReasonText, WatermarkEntry}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.splits.{OnReturn, SplitNameTable, Splits, SplitState}

import org.scalacheck.{Arbitrary, Gen}

/** Entries of every kind that the format can hold. */
private[core] object Entries {

  // Both ends of a Long, where varints are longest, come as often as everyday numbers.
  private val number: Gen[Long] =
    Gen.frequency(
      4 -> Gen.choose(-200L, 200L),
      2 -> Gen.choose(1300000000000L, 2000000000000L),
      2 -> Arbitrary.arbitrary[Long],
      1 -> Gen.oneOf(Long.MinValue, Long.MaxValue))
  private val natural: Gen[Long] = Gen.frequency(4 -> Gen.choose(0L, 300L), 1 -> Gen.choose(0L, Long.MaxValue))
  private val ordinal: Gen[Int] = Gen.frequency(4 -> Gen.choose(0, 300), 1 -> Gen.choose(0, Int.MaxValue))
  private val key: Gen[String] =
    Gen.oneOf(
      Gen.alphaNumStr,
      Gen.const(""),
      Gen.oneOf("Zeit", "时间", "⏰", "a b.`c`"),
      Gen.listOfN(200, Gen.alphaChar).map(_.mkString))

  private val watermark: Gen[Watermark] =
    Gen.frequency(
      1 -> Gen.const(Watermark.Unknown),
      1 -> Gen.option(number).map(Watermark.Idle(_)),
      4 -> number.map(Watermark.At(_)))
  private val origin: Gen[OriginName] = Gen.zip(key, ordinal).map((OriginName(_, _)).tupled)
  private val splitName: Gen[Seq[Option[String]]] = Gen.choose(0, 3).flatMap(Gen.listOfN(_, Gen.option(key)))
  // Spark's times are in µs: in ms they are far from the ends of a Long, which mean something else to a clock.
  private val clock: Gen[Option[Long]] = Gen.option(number.map(_ / 1000))
  private val splits: Gen[Splits] = for {
    all <- Gen.choose(0, 6).flatMap(
      Gen.listOfN(_, Gen.zip(splitName, Gen.oneOf[SplitState](SplitState.Active, SplitState.Idle), clock, number)))
    reached <- clock
  } yield SplitList.splits(
    all.distinctBy(_._1).map { case (name, state, clock, lastActive) =>
      SplitList.One(SplitNameTable.encode(name), state, clock, lastActive)
    },
    Watermark.of(reached))
  private val state: Gen[OriginState] =
    for {
      all <- splits
      silent <- Gen.oneOf(true, false)
      of <- Gen.zip(Gen.option(number), Gen.option(number), Gen.oneOf(true, false), natural, Gen.listOf(key))
      sources <- Gen.option(Gen.zip(Gen.listOf(key), Gen.oneOf(true, false)).map((OriginSources(_, _)).tupled))
    } yield OriginState(all, of._1, of._2, of._3, of._4, of._5, silent && !all.watermark.isIdle, sources = sources)
  private val input: Gen[Input] =
    Gen.zip(natural.map(OperatorId(_)), Gen.oneOf(Side.Left, Side.Right)).map((Input(_, _)).tupled)
  private val union: Gen[UnionSlot] = Gen.zip(ordinal, ordinal).map((UnionSlot(_, _)).tupled)
  private val carried: Gen[CarriedSlot] = Gen.zip(input, ordinal).map((CarriedSlot(_, _)).tupled)
  private val ledger: Gen[CarriedMinima] =
    Gen.zip(natural, mapOf(number, Gen.listOf(Gen.option(number)).map(_.toVector))).map { case (width, buckets) =>
      CarriedMinima(width, TreeMap.from(buckets))
    }

  private def mapOf[K, V](keys: Gen[K], values: Gen[V]): Gen[Map[K, V]] =
    Gen.choose(0, 6).flatMap(Gen.listOfN(_, Gen.zip(keys, values))).map(_.toMap)

  private val floors: Gen[Floors] =
    Gen.zip(mapOf(union, watermark), mapOf(carried, watermark), mapOf(input, watermark)).map((Floors(_, _, _)).tupled)
  private val decision: Gen[Decision] = Gen.zip(mapOf(origin, watermark), floors).map((Decision(_, _)).tupled)

  val any: Gen[WatermarkEntry] = for {
    batch <- natural
    timestamp <- number
    end <- number
    worked <- decision
    origins <- mapOf(origin, state)
    reached <- floors
    ledgers <- mapOf(input, ledger)
    outputs <- mapOf(Gen.oneOf("/log query", "/other query"), watermark)
    correction <-
      Gen.option(Gen.zip(natural, number, Gen.listOf(origin).map(_.toSet)).map((Correction(_, _, _)).tupled))
    reason <- Gen.option(
      Gen.zip(
        key,
        key,
        Gen.option(key),
        Gen.option(key),
        Gen.oneOf(true, false)).map((ReasonText(_, _, _, _, _)).tupled))
  } yield WatermarkEntry(batch, timestamp, end, worked, origins, reached, ledgers, outputs, correction, reason)

  /** One of each: what a small query with a union and a carried column writes. */
  val small: WatermarkEntry = {
    val (orders, payments) = (OriginName("orders", 0), OriginName("payments", 1))
    val at = Input(OperatorId(2), Side.Right)
    WatermarkEntry(
      batch = 5,
      timestampMillis = 1700000000000L,
      endMillis = 1700000000500L,
      decision = Decision(
        Map(orders -> Watermark.At(1699999400000L), payments -> Watermark.Unknown),
        Floors(Map(UnionSlot(0, 1) -> Watermark.At(-1)), Map(CarriedSlot(at, 0) -> Watermark.Idle(None)))),
      origins = Map(
        orders -> OriginState(
          Splits.none
            .withNames(Seq(SplitNameTable.encode(Seq(Some("a"), None))), 1699999990000L, OnReturn.Hold)
            .atLeast(Watermark.At(1699999460000L)),
          Some(1700000060000L),
          sinceMillis = Some(1699999990000L),
          waiting = true,
          farAheadRows = 3,
          splitBy = Seq("a", "b")),
        payments -> OriginState.initial),
      floors = Floors(Map(UnionSlot(0, 1) -> Watermark.At(300)), Map(CarriedSlot(at, 0) -> Watermark.At(0))),
      ledgers =
        Map(at -> CarriedMinima(1000, TreeMap(2000L -> Vector(Some(-7L), None), 3000L -> Vector(None, Some(64L))))))
  }
}
