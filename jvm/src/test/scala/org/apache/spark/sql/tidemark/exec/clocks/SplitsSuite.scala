package org.apache.spark.sql.tidemark.exec.clocks

import java.sql.Timestamp

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.Column
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.SplitInputs

/** Which split holds an origin's watermark, and what a split may be. */
class SplitsSuite extends SplitInputs {
  import testImplicits._

  private def splitsAre(expected: (String, String)*): StreamAction = Execute { query =>
    assert(splitsOf(watermarksOf(query)) === expected.map { case (name, time) => name -> Some(millis(time)) }.toMap)
  }

  for (mode <- generated)
    test(s"a split that lags behind holds the watermark and loses no rows ($mode)") {
      withCode(mode) {
        val (stream, df) = readings
        testStream(counted(split(df, $"device")))(
          AddData(stream, ("a", at("12:00"), 1), ("b", at("10:00"), 1), ("a", at("11:00"), 1)),
          ProcessAllAvailable(),
          splitsAre("a" -> "12:00", "b" -> "10:00"),
          originsAre("time" -> Some(millis("10:00"))),
          AddData(stream, ("b", at("10:05"), 1)),
          ProcessAllAvailable(),
          CheckNewAnswer(),
          AddData(stream, ("b", at("10:15"), 1)),
          ProcessAllAvailable(),
          CheckNewAnswer(("10:00", 2L)),
          AddData(stream, ("b", at("13:00"), 1)),
          ProcessAllAvailable(),
          CheckNewAnswer(("10:10", 1L), ("11:00", 1L)))
      }
    }

  test("each of many splits in one batch, in several tasks, advances by its own rows only") {
    val (stream, df) = readings
    val rows = (0 until 5000).map(i => (s"d${i % 1000}", new Timestamp(millis("10:00") + i), i))
    testStream(counted(split(df.repartition(4), $"device")))(
      AddData(stream, rows: _*),
      ProcessAllAvailable(),
      Execute { query =>
        val expected = rows.groupMapReduce(_._1)(r => Option(r._2.getTime))((a, b) => Seq(a, b).max)
        assert(splitsOf(watermarksOf(query)) === expected)
      })
  }

  testMore("a row with a null event time adds no split and advances no split") {
    val (stream, df) = readings
    testStream(counted(split(df, $"device")))(
      AddData(stream, ("a", at("10:00"), 1), ("b", null, 1)),
      ProcessAllAvailable(),
      splitsAre("a" -> "10:00"),
      AddData(stream, ("a", null, 1)),
      ProcessAllAvailable(),
      splitsAre("a" -> "10:00"))
  }

  testMore("event times before 1970 and in the year 9999 are kept, even with a very long delay") {
    val stream = MemoryStream[(String, String)]
    val df = stream.toDF().toDF("device", "text").select($"device", to_timestamp($"text").as("time"))
    // The delay is near the longest that Spark accepts.
    val marked = withWatermark(df, "time", "286000 years", WatermarkOptions(splitBy = SplitBy($"device")))
    testStream(counted(marked))(
      AddData(stream, "old" -> "0001-01-01 00:00:00", "new" -> "9999-12-31 23:59:59"),
      ProcessAllAvailable(),
      Execute { query =>
        val days = 286000L * 12 * 31 * 86400000L
        val clocks = splitsOf(watermarksOf(query))
        assert(clocks("old").exists(_ < -days) && clocks("new").contains(253402300799000L - days))
      })
  }

  // Each has a kind of split, its expression, and the names of the resulting splits.
  private val keys = Seq[(String, Column, Set[String])](
    ("text", $"device", Set("a", "b", "null")),
    ("an integer", $"n", Set("1", "2")),
    ("a long", $"n".cast("long"), Set("1", "2")),
    ("a short", $"n".cast("short"), Set("1", "2")),
    ("a byte", $"n".cast("byte"), Set("1", "2")),
    ("a double", -($"n" - 2).cast("double"), Set("1.0", "0.0")),
    ("a date", to_date($"time"), Set("2024-03-01")),
    (
      "a timestamp without time zone",
      date_trunc("hour", $"time".cast("timestamp_ntz")).cast("timestamp_ntz"),
      Set("2024-03-01 10:00:00", "2024-03-01 11:00:00")),
    ("an interval", expr("make_dt_interval(0, n)"), Set(1, 2).map(h => s"INTERVAL '0 0$h:00:00' DAY TO SECOND")),
    ("a decimal", ($"n" / 2).cast("decimal(10,2)"), Set("0.50", "1.00")),
    ("a boolean", $"n" === 1, Set("true", "false")),
    ("a timestamp", date_trunc("hour", $"time"), Set("2024-03-01 10:00:00", "2024-03-01 11:00:00")),
    ("binary", $"device".cast("binary"), Set("61", "62", "null")),
    (
      "a struct",
      struct($"device", $"n"),
      Set("""{"device":"a","n":1}""", """{"device":"b","n":2}""", """{"device":null,"n":1}""")),
    ("an array", array($"device", lit("x,y")), Set("""["a","x,y"]""", """["b","x,y"]""", """[null,"x,y"]""")))

  for ((kind, by, names) <- keys) moreTestsIf(kind != "text" && kind != "a struct") {
    test(s"a split may be $kind") {
      for (mode <- generated) withCode(mode) {
        val (stream, df) = readings
        testStream(counted(split(df, by)))(
          AddData(stream, ("a", at("10:00"), 1), ("b", at("11:00"), 2), (null, at("10:30"), 1)),
          ProcessAllAvailable(),
          Execute(query => assert(splitsOf(watermarksOf(query)).keySet === names)))
      }
    }
  }

  testMore("split names of 10 MB, with line breaks, quotes or paths, work like other names, also after a restart") {
    val names = Seq("\n\"'../%s\u0000".padTo(10000000, 'x'), "\u00e9" * 5000000, "")
    val (stream, df) = readings
    testStream(counted(split(df, $"device")))(
      AddData(stream, names.zipWithIndex.map { case (name, i) => (name, at(s"10:0$i"), i) }: _*),
      ProcessAllAvailable(),
      StopStream,
      StartStream(),
      AddData(stream, (names(1), at("10:09"), 1)),
      ProcessAllAvailable(),
      splitsAre(names.zip(Seq("10:00", "10:09", "10:02")): _*),
      originsAre("time" -> Some(millis("10:00"))))
  }

  test("an expected split that no row can belong to is refused when the watermark is defined") {
    val (_, df) = readings
    def expecting(by: Column, text: String) =
      withWatermark(
        df,
        "time",
        "0 seconds",
        WatermarkOptions(splitBy = SplitBy(Seq(by), expected = Seq(Seq(Some(text))))))
    for ((by, text) <- Seq(
        $"n" -> "one",
        $"n" -> "01",
        to_date($"time") -> "1 March",
        ($"n" > 1) -> "yes",
        $"n".cast("double") -> "1",
        $"device".cast("binary") -> "dev",
        $"device".cast("binary") -> "6f"))
      assertRefused("INVALID_SPLITS", "value" -> text)(expecting(by, text))
    for ((by, text) <- Seq(
        $"n" -> "1",
        to_date($"time") -> "2024-03-01",
        ($"n" > 1) -> "true",
        $"device" -> "01",
        $"n".cast("double") -> "1.0",
        $"device".cast("binary") -> "6F",
        expr("make_dt_interval(0, n)") -> "INTERVAL '0 01:00:00' DAY TO SECOND"))
      assert(expecting(by, text).isStreaming)
  }

  testMore("a split column of a type without an order is refused when the watermark is defined") {
    val (_, df) = readings
    assertRefused("INVALID_SPLITS", "column" -> "time", "dataType" -> "map<string,int>") {
      split(df, map($"device", $"n"))
    }
  }

  testMore("the function tidemark_event_time is refused unless it is a whole column with valid options") {
    val (_, df) = readings
    for (wrong <- Seq(
        "year(tidemark_event_time(time, '{}')) AS y",
        "tidemark_event_time(time, device) AS t",
        "tidemark_event_time(time, '{\"idle\": 1}') AS t",
        "tidemark_event_time(time, '[]') AS t",
        "tidemark_event_time(time, '{\"idleAfter\": 0}') AS t",
        "tidemark_event_time(time, '{\"maxAheadMs\": 60000}') AS t",
        "tidemark_event_time(time, '{') AS t",
        "tidemark_event_time(time) AS t"))
      withClue(wrong)(assertRefused("INVALID_EVENT_TIME")(df.selectExpr(wrong)))
  }

  test("the split column survives column pruning, filters before and after it, and unusual column names") {
    val (stream, df) = readings
    val odd = df.withColumnRenamed("device", "a device.`b`").filter($"n" > 0)
    val marked = withWatermark(odd, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy(col("`a device.``b```"))))
    testStream(counted(marked.filter($"n" < 10).select("time")))(
      AddData(stream, ("a", at("12:00"), 1), ("b", at("10:00"), 1), ("c", at("09:00"), 20), ("d", at("08:00"), -1)),
      ProcessAllAvailable(),
      // A split counts if a later filter drops its rows, and does not if an earlier filter drops them.
      splitsAre("a" -> "12:00", "b" -> "10:00", "c" -> "09:00"))
  }

  testMore("both sides of a self-join use the split clocks of the same input") {
    val (stream, df) = readings
    val marked = split(df, $"device")
    val twice = marked.as("l").join(marked.as("r"), expr("l.n = r.n AND l.time = r.time")).select("l.n")
    testStream(twice)(
      AddData(stream, ("a", at("12:00"), 1), ("b", at("10:00"), 2)),
      ProcessAllAvailable(),
      CheckNewAnswer(1, 2),
      originsAre("time" -> Some(millis("10:00"))))
  }

  test("more splits than are allowed cause an error that names the column") {
    withSQLConf("spark.tidemark.maxSplits" -> "3") {
      val (stream, df) = readings
      testStream(counted(split(df, $"device")))(
        AddData(stream, (1 to 3).map(i => (s"$i", at("10:00"), i)): _*),
        ProcessAllAvailable(),
        AddData(stream, ("4", at("10:00"), 4)),
        expectRefusal("TOO_MANY_SPLITS", "column" -> "time", "splits" -> "4", "maxSplits" -> "3"))
      val (many, other) = readings
      testStream(counted(split(other, $"device")))(
        AddData(many, (1 to 50).map(i => (s"$i", at("10:00"), i)): _*),
        expectRefusal("TOO_MANY_SPLITS", "column" -> "time", "maxSplits" -> "3"))
    }
  }

  testMore("a query with splits that is left to Spark is refused") {
    withSQLConf(SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max") {
      val (stream, df) = readings
      testStream(counted(split(df, $"device")))(
        AddData(stream, ("a", at("10:00"), 1)),
        expectRefusal("LEFT_TO_SPARK"))
    }
  }

  testMore("a second watermark has the session's maxAhead setting, whatever max_ahead the first watermark has") {
    withSQLConf("spark.tidemark.maxAhead" -> "1 day") {
      val (stream, df) = readings
      val options = WatermarkOptions(splitBy = SplitBy($"device"), maxAhead = Some("none"))
      testStream(counted(withWatermark(df, "time", "0 seconds", options).withWatermark("time", "1 hour")))(
        AddData(stream, ("a", at("10:00"), 1), ("a", Timestamp.valueOf("2100-01-01 00:00:00"), 1)),
        ProcessAllAvailable(),
        Execute { query =>
          val origins = watermarksOf(query).view.get.snapshot.entry.origins.values.toSeq
          assert(origins.map(_.farAheadRows).sorted === Seq(0L, 1L))
          assert(origins.find(_.farAheadRows == 1).flatMap(_.watermark.millis).contains(millis("9:00")))
        })
    }
  }

  test("an event time too far ahead advances no clock and is counted, also for a plain watermark") {
    withSQLConf("spark.tidemark.maxAhead" -> "1 day") {
      val (stream, df) = readings
      for (marked <- Seq(df.withWatermark("time", "0 seconds"), split(df, $"device")))
        testStream(counted(marked))(
          AddData(stream, ("a", at("10:00"), 1), ("a", Timestamp.valueOf("2100-01-01 00:00:00"), 1)),
          ProcessAllAvailable(),
          originsAre("time" -> Some(millis("10:00"))),
          Execute(query => assert(watermarksOf(query).view.get.snapshot.entry.origins.values.head.farAheadRows === 1)))
    }
  }
}
