package org.apache.spark.sql.tidemark.columns

import io.tidemark.functions.withWatermark

import org.apache.spark.sql.tidemark.support.{MarkedColumns, SilenceTest}

/** Columns that bear Spark's mark, where inputs fall silent, by a clock that the test moves. */
class SilentMarkedColumnsSuite extends SilenceTest with MarkedColumns {
  import testImplicits._

  test("a mapped input may become idle in a union and return") {
    val (silent, a) = readings
    val (loud, b) = readings
    val both = mapped(withWatermark(a, "time", "0 seconds", tenSeconds)).union(b.withWatermark("time", "0 seconds"))
    isLeftOutWhileSilent(both, loud, silent)
  }

  test("the watermark of a map over a union never goes back when an input becomes idle and returns") {
    val (silent, a) = readings
    val (loud, b) = readings
    val both = withWatermark(a, "time", "0 seconds", tenSeconds).union(b.withWatermark("time", "0 seconds"))
    run(counted(mapped(both)))(
      more(loud, "a" -> "10:00", "a" -> "10:35") ++ more(silent, "b" -> "10:05") ++ seconds(10) ++
        Seq(CheckNewAnswer(("10:00", 2L))) ++ more(silent, "b" -> "10:06") ++ more(loud, "a" -> "10:50") ++
        Seq(second, CheckNewAnswer(), StopStream, StartStream()) ++ more(silent, "b" -> "11:05") ++
        more(loud, "a" -> "11:00") ++ Seq(second, CheckNewAnswer(("10:30", 1L), ("10:50", 1L))): _*)
  }
}
