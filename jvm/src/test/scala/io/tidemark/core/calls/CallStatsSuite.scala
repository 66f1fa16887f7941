package io.tidemark.core.calls

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class CallStatsSuite extends AnyFunSuite {

  private def of(millis: Double*): CallStats = {
    val counter = new CallStats.Counter
    millis.foreach(counter.ended(_, hasFailed = false, "n=1"))
    counter.result
  }

  test("a quantile is right to within a tenth, and never more than the slowest call") {
    val random = new Random(1)
    val all = Seq.fill(1000)(math.exp(random.nextDouble() * 9))
    for (share <- Seq(0.01, 0.5, 0.9, 0.99, 1.0)) {
      val exact = all.sorted.apply(math.ceil(share * all.size).toInt - 1)
      val found = of(all: _*).quantileMillis(share).get
      assert(found >= exact && found <= math.max(1.0, exact * 1.1), share)
    }
    assert(of(300, 300, 300).quantileMillis(0.5) === Some(300.0))
    assert(of(0.2).quantileMillis(0.99) === Some(0.2))
    assert(CallStats.none.quantileMillis(0.5) === None)
  }

  test("what several tasks have counted adds up, and the slowest call is that of all") {
    val counter = new CallStats.Counter
    counter.began(isRetry = false, inFlight = 1)
    counter.began(isRetry = true, inFlight = 3)
    counter.ended(5, hasFailed = true, "n=2")
    counter.gaveUp(2000, "n=3")
    counter.tookDefault()
    val sum = counter.result + of(10, 3000) + CallStats.none
    assert((sum.calls, sum.retries, sum.failed, sum.timedOut, sum.defaulted, sum.mostInFlight) === ((2, 1, 1, 1, 1, 3)))
    assert(sum.durations.values.sum === 4)
    assert(sum.slowest === Some(CallStats.Slowest(3000, "n=1")))
  }

  test("what a worker of Python says is read, and anything else is not") {
    val stats = CallStats.parse("6 1 2 1 1 64\n0:3 17:2\n1234.5\nuser='a\nb'").get
    assert(stats ===
      CallStats(6, 1, 2, 1, 1, 64, Map(0 -> 3L, 17 -> 2L), Some(CallStats.Slowest(1234.5, "user='a\nb'"))))
    assert(CallStats.parse("1 0 0 0 0 1\n\n\n").get === CallStats(1, 0, 0, 0, 0, 1, Map.empty, None))
    for (text <- Seq("", "1\n\n\n", "a b c d e f\n\n\n", "1 0 0 0 0 1")) assert(CallStats.parse(text) === None)
  }
}
