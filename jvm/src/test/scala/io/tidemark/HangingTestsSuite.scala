package io.tidemark

import java.io.{ByteArrayOutputStream, PrintStream}
import java.util.concurrent.CountDownLatch

import org.scalatest.{Args, DoNotDiscover, Reporter}
import org.scalatest.events.{Event, TestFailed, TestSucceeded}
import org.scalatest.funsuite.AnyFunSuite

class HangingTestsSuite extends AnyFunSuite {

  test("a test that hangs fails, its name and its stack are printed, and the next test runs") {
    val printed = new ByteArrayOutputStream
    val hanging = new HangingTests(limit = 200, new PrintStream(printed, true))
    var ended = Seq.empty[(String, Boolean)]
    val reporter: Reporter = (event: Event) => {
      event match {
        case e: TestFailed => ended :+= e.testName -> false
        case e: TestSucceeded => ended :+= e.testName -> true
        case _ =>
      }
      hanging(event)
    }
    val suite = new HangingTestsSuite.Hangs
    try suite.run(None, Args(reporter))
    finally hanging.dispose()
    assert(ended === Seq("waits forever" -> false, "ends" -> true))
    val text = printed.toString
    assert(text.contains(s"*** HANGS *** after 200 ms: ${suite.suiteName}: waits forever"))
    assert(text.contains("java.util.concurrent.CountDownLatch.await"))
  }
}

object HangingTestsSuite {
  @DoNotDiscover
  class Hangs extends AnyFunSuite {
    test("waits forever")(new CountDownLatch(1).await())
    test("ends")(assert(true))
  }
}
