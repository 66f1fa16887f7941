package org.apache.spark.sql.tidemark.planning

import scala.util.Random

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.exec.eviction.WindowGrid
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** When the windows of a plan end. */
class WindowEndsSuite extends WatermarkTest {
  import testImplicits._

  private def times: DataFrame = Seq(1L).toDF("n").repartition(1).select(timestamp_micros($"n").as("t"))

  /** Of the last column of a plan. */
  private def grid(df: DataFrame): Option[WindowGrid] = {
    val plan = df.queryExecution.sparkPlan
    WindowEnds.of(plan, plan.output.last.exprId)
  }

  private def grid(window: Column): Option[WindowGrid] = grid(times.select(window.as("w")))

  test("the next window end after any time is found for windows of any size, slide and start") {
    val random = new Random(3)
    for (_ <- 1 to 40) {
      val slide = 1 + random.nextInt(1000).toLong
      val size = slide + (if (random.nextBoolean()) 0 else random.nextInt(10 * slide.toInt).toLong)
      val start = random.nextInt(slide.toInt).toLong
      val found = grid(window($"t", s"$size microseconds", s"$slide microseconds", s"$start microseconds")).get
      for (_ <- 1 to 20) {
        val after = random.nextInt(20000).toLong - 10000
        // Windows end at start + size, and then each slide.
        val expected = start + size + Math.floorDiv(after - start - size, slide) * slide + slide
        withClue(s"size $size, slide $slide, start $start, after $after: ") {
          assert(found.next(after) === Some(expected))
          assert(found.has(expected) && (slide == 1 || !found.has(expected + 1)))
        }
      }
    }
  }

  test("a window of one day that slides by a minute ends every minute") {
    val found = grid(window($"t", "1 day", "1 minute")).get
    assert(found.next(5L) === Some(60000000L))
  }

  test("the ends of renamed windows and of windows of windows are known") {
    val hours = times.select(window($"t", "1 hour").as("a")).select($"a".as("b")).select($"b".as("c"))
    assert(grid(hours).flatMap(_.next(0L)) === Some(3600000000L))
    val ofHours = times.select(window($"t", "1 hour").as("a")).groupBy("a").count()
      .select(window($"a", "2 hours").as("w"))
    assert(grid(ofHours).flatMap(_.next(0L)) === Some(7200000000L))
  }

  test("a union has the window ends of all its inputs") {
    val both = grid(times.select(window($"t", "10 minutes").as("w")).union(times.select(window($"t", "15 minutes"))))
    assert(Seq(0L, 600L, 900L).map(_ * 1000000L).map(both.get.next) ===
      Seq(600L, 900L, 1200L).map(s => Some(s * 1000000L)))
  }

  private val hour = window($"t", "1 hour")

  for ((what, column) <- Seq(
      "a window with a moved end" -> struct($"w.start".as("start"), ($"w.end" + expr("INTERVAL 30 MINUTES")).as("end")),
      "a window that ends a day later" -> struct($"w.start".as("start"), ($"w.end" + expr("INTERVAL 1 DAY")).as("end")),
      "a struct of two times" -> struct($"t".as("start"), $"t".as("end")),
      "a choice of two windows" -> when(minute($"t") > 5, $"w").otherwise(window($"t", "7 minutes")),
      "a session window" -> session_window($"t", "5 minutes"),
      "a time" -> $"t"))
    test(s"$what has no known window ends, and neither has a union with it") {
      val made = times.select($"t", hour.as("w")).select(column.as("w"))
      assert(grid(made) === None)
      if (what != "a time") assert(grid(times.select(hour.as("w")).union(made)) === None)
    }
}
