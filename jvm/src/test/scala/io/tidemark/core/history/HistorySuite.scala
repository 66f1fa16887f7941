package io.tidemark.core.history

import io.tidemark.core.OriginName
import io.tidemark.core.history.Moment.InputMoment

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class HistorySuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val names = Seq(OriginName("orders", 0), OriginName("payments", 0))

  private def moment(batch: Int, late: Long = 0, state: Long = 0, times: Option[Long] = None): Moment =
    Moment(batch.toLong, 1000L * batch, late, state, names.map(_ => InputMoment(times, times, 1, 0)))

  private def fed(moments: Seq[Moment]): History = moments.foldLeft(History.of(names))(_ after _)

  private val runs: Gen[Seq[Moment]] = for {
    size <- Gen.choose(1, 3000)
    few = Gen.frequency(9 -> Gen.const(0L), 1 -> Gen.choose(0L, 5L))
    late <- Gen.listOfN(size, few)
    state <- Gen.listOfN(size, Gen.choose(0L, 1000L))
  } yield late.zip(state).zipWithIndex.map { case ((late, state), batch) => moment(batch, late, state) }

  private def holds(property: (History, Seq[Moment]) => Boolean): Unit =
    forAll(runs, minSuccessful(50))(run => assert(property(fed(run), run)))

  test("a history never has more than 512 moments, and knows how many batches it was fed") {
    holds((history, run) => history.moments.size <= History.MostMoments && history.batches == run.size)
  }

  test("a history begins with the first batch and ends with the last one") {
    holds((history, run) => history.moments.head == run.head && history.moments.last == run.last)
  }

  test("moments are in the order of time, and each is one that was fed") {
    holds { (history, run) =>
      val times = history.moments.map(_.timeMillis)
      times == times.sorted && history.moments.forall(run.toSet)
    }
  }

  test("the most late rows and the most rows in state of any batch stay") {
    holds { (history, run) =>
      history.moments.map(_.lateRows).max == run.map(_.lateRows).max &&
      history.moments.map(_.stateRows).max == run.map(_.stateRows).max
    }
  }

  test("the moments of a long run are equally far apart, but for the few that always stay") {
    for (size <- Seq(600, 5000, 100000)) {
      val history = fed((0 until size).map(moment(_)))
      val kept = history.moments.map(_.batch)
      val gaps = kept.tail.zip(kept).map { case (next, batch) => next - batch }
      assert(gaps.max <= 2 * size / (History.MostMoments / 2 - 4))
    }
  }

  test("a moment returns the numbers that it was made of") {
    val inputs = Seq(InputMoment(None, Some(-5L), 2000000, 0), InputMoment(Some(0L), None, 0, Int.MaxValue))
    val moment = Moment(7, 8, 9, 10, inputs)
    assert((moment.batch, moment.timeMillis, moment.lateRows, moment.stateRows) === ((7L, 8L, 9L, 10L)))
    assert(moment.inputs === inputs)
  }

  test("a batch after a clock was set back counts as of the time of the one before") {
    val history = fed(Seq(5000L, 3000L, 6000L).zipWithIndex.map { case (time, batch) =>
      Moment(batch.toLong, time, 0, 0, names.map(_ => InputMoment(None, None, 0, 0)))
    })
    assert(history.moments.map(_.timeMillis) === Seq(5000L, 5000L, 6000L))
    assert(history.moments.map(_.batch) === Seq(0L, 1L, 2L))
  }

  test("of a query with 40 inputs a history has the first 32, and knows that 8 are left out") {
    val history = History.of((0 until 40).map(n => OriginName(s"k$n", 0)))
    assert(history.names.size === 32 && history.leftOut === 8)
  }
}
