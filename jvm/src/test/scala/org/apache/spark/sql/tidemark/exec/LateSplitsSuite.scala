package org.apache.spark.sql.tidemark.exec

import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** The report says whose rows were late, and names no split where that is not known. */
class LateSplitsSuite extends RefusalsTest {
  import testImplicits._

  private def readings: (MemoryStream[(String, Timestamp)], DataFrame) = {
    val stream = MemoryStream[(String, Timestamp)]
    (stream, stream.toDF().toDF("k", "t"))
  }

  private def split(df: DataFrame, by: Column*): DataFrame =
    withWatermark(df, "t", "0 seconds", WatermarkOptions(key = Some("x"), splitBy = SplitBy(by)))

  private def late(check: JsonNode => Unit): StreamAction = report(all => check(all.get("plan").findValue("late")))

  /** The late rows of each split; empty if they are not known. */
  private def splitsAre(splits: (String, Long)*): StreamAction = late { found =>
    assert(found.get("rows").asLong === 4)
    val named = Option(found.get("splits")).toSeq.flatMap(_.elements.asScala)
    assert(named.map(split => split.get("name").asText -> split.get("rows").asLong) === splits)
  }

  private def history(df: DataFrame, stream: MemoryStream[(String, Timestamp)])(check: StreamAction): Unit =
    for (mode <- Seq("CODEGEN_ONLY", "NO_CODEGEN")) withCode(mode) {
      stream.reset()
      testStream(df)(
        AddData(stream, "a" -> at("12:00"), "b" -> at("12:00")),
        ProcessAllAvailable(),
        AddData(
          stream,
          "b" -> at("10:00"),
          "b" -> at("10:10"),
          "a" -> at("10:00"),
          "b" -> at("10:20"),
          "a" -> at("12:10")),
        ProcessAllAvailable(),
        check)
    }

  test("late rows are counted by split where the columns to split by reach the operator, also renamed") {
    val (stream, df) = readings
    history(split(df, $"k").groupBy(window($"t", "1 hour"), $"k").count(), stream)(splitsAre("b" -> 3, "a" -> 1))
    val renamed = split(df, $"k").select($"t", $"k".as("device")).dropDuplicates("device", "t")
    history(renamed, stream)(splitsAre("b" -> 3, "a" -> 1))
  }

  test("late rows are counted by a computed split where the operator's input still has its columns") {
    val (stream, df) = readings
    history(split(df, upper($"k"), $"k").dropDuplicates("k", "t"), stream)(splitsAre("[B, b]" -> 3, "[A, a]" -> 1))
  }

  test("late rows are counted by split where nothing above needs the columns to split by") {
    val (stream, df) = readings
    for (by <- Seq($"k", upper($"k").as("k")))
      history(split(df, by).groupBy(window($"t", "1 hour")).count(), stream) {
        late { found =>
          assert(found.get("splits").elements.asScala.map(_.get("rows").asLong).toSeq === Seq(3, 1))
          assert(found.get("splits").get(0).get("name").asText.equalsIgnoreCase("b"))
        }
      }
    val cleaned = split(df, $"k").filter(hour($"t") < 23).select(($"t" + expr("INTERVAL 0 MINUTES")).as("u"), $"t")
    history(cleaned.filter($"u".isNotNull).select("t").groupBy(window($"t", "1 hour")).count(), stream)(
      splitsAre("b" -> 3, "a" -> 1))
  }

  test("late rows are not counted by split behind a shuffle without the columns, and at a union of two inputs") {
    val (stream, df) = readings
    history(split(df, $"k").select("t").repartition(2).groupBy(window($"t", "1 hour")).count(), stream)(splitsAre())
    val (other, more) = readings
    val plain = withWatermark(more, "t", "0 seconds", WatermarkOptions(key = Some("y")))
    val union = split(df, $"k").union(plain).groupBy(window($"t", "1 hour"), $"k").count()
    stream.reset()
    testStream(union)(
      MultiAddData(stream, "a" -> at("12:00"))(other, "b" -> at("12:00")),
      ProcessAllAvailable(),
      late { found =>
        assert(found.get("key").isNull)
        assert(found.get("held_by").isNull)
      },
      MultiAddData(stream, "a" -> at("13:00"))(other, "b" -> at("10:00")),
      ProcessAllAvailable(),
      late { found =>
        assert(found.get("rows").asLong === 1)
        assert(found.get("key").isNull)
        assert(found.get("held_by").isNull)
        assert(!found.has("splits"))
      })
  }

  test("a join side names no holder of its watermark before there is one") {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    testStream(a.join(b, expr("a = b AND tb BETWEEN ta AND ta + INTERVAL 15 MINUTES")))(
      AddData(left, 1 -> at("12:00")),
      ProcessAllAvailable(),
      report { all =>
        val sides = all.get("plan").findValue("sides").elements.asScala.map(_.get("late")).toSeq
        assert(sides.map(_.get("key").asText) === Seq("ta", "tb"))
        assert(sides.last.get("held_by").isNull)
      })
  }
}
