package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import io.tidemark.{Idle, Noted, OrderOptions, SplitBy, WatermarkOptions}
import io.tidemark.functions.{inOrder, timeWindow, withWatermark}

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode, Trigger}
import org.apache.spark.sql.tidemark.support.{ManualClockTest, MarkLog}

/** A watermark that follows the times that writers note. */
class NotedInputSuite extends ManualClockTest {
  import testImplicits._

  private def number(n: Long) = s"""{"number":$n}"""

  private def input(noted: Noted, idle: Idle = Idle(), delay: String = "0 seconds") = {
    val stream = MemoryStream[(String, Timestamp)]
    val rows = stream.toDF().toDF("id", "time")
    stream ->
      withWatermark(rows, "time", delay, WatermarkOptions(idle = idle, maxAhead = Some("none"), noted = Some(noted)))
  }

  private def counted(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  private def withLog(test: MarkLog => Unit): Unit =
    withTempDir(folder => test(new MarkLog(new File(folder, "_tidemark"))))

  private def mark(add: => Unit): StreamAction = Execute(_ => add)

  private def watermarkOf(key: String)(query: StreamExecution): Option[Long] =
    watermarksOf(query).view.get.snapshot.decision.origins.collectFirst {
      case (name, at) if name.toString == key => at
    }
      .flatMap(_.millis)

  private def after(millis: Long): StreamAction = move(millis)

  test("a window is emitted when all writers have noted its end, whatever the rows say") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      run(counted(df))(
        mark { log.alive("eu"); log.alive("us") },
        AddData(stream, ("a", at("10:05")), ("b", at("11:30"))),
        after(1000),
        CheckNewAnswer(),
        mark(log.note("eu", millis("10:10"), number(0))),
        AddData(stream, ("c", at("10:06"))),
        after(1000),
        after(1000),
        CheckNewAnswer(),
        mark(log.note("us", millis("10:10"), number(1))),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("10:00", 2L)),
        StopStream,
        StartStream(),
        // On time: no mark says that its hour is complete.
        AddData(stream, ("d", at("10:11")), ("late", at("10:09"))),
        after(1000),
        mark { log.note("eu", millis("10:20"), number(2)); log.note("us", millis("10:30"), number(9)) },
        // The first says enough, but the other is not passed.
        after(1000),
        after(1000),
        CheckNewAnswer(),
        originsAre("time" -> Some(millis("10:10"))),
        mark(log.add("us", s""""k":"end","at":1,"p":${number(2)}""")),
        until(watermarkOf("time")(_).contains(millis("10:20"))),
        after(1000),
        CheckNewAnswer(("10:10", 1L)))
    }
  }

  test("the time window of a batch is its watermark and the next time that is noted ahead") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      def clock(bound: String) = date_format(timeWindow($"time").getField(bound), "HH:mm")
      run(df.select($"id", clock("lower"), clock("upper")))(
        mark { log.note("eu", millis("10:10"), number(0)); log.note("eu", millis("10:20"), number(1)) },
        AddData(stream, ("a", at("10:05"))),
        after(1000),
        CheckNewAnswer(Row("a", null, null)),
        AddData(stream, ("b", at("10:15"))),
        after(1000),
        CheckNewAnswer(Row("b", "10:10", "10:20")),
        StopStream,
        StartStream(),
        AddData(stream, ("c", at("10:25"))),
        after(1000),
        CheckNewAnswer(Row("c", "10:20", null)))
      checkAnswer(Seq(at("10:05")).toDF("time").select(clock("lower"), clock("upper")), Row(null, null))
    }
  }

  test("writers that are expected hold the watermark, and no others count if so wanted") {
    withLog { log =>
      val (stream, df) = input(Noted(Some(log.location), expected = Seq("us"), onlyExpected = true))
      run(counted(df))(
        mark {
          log.alive("eu"); log.note("mars", millis("09:00"), number(0)); log.note("eu", millis("10:10"), number(0))
        },
        AddData(stream, ("a", at("10:05"))),
        after(1000),
        after(1000),
        originsAre("time" -> None),
        mark(log.note("us", millis("10:10"), number(0))),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("10:00", 1L)))
    }
  }

  test("a writer that has stalled by the log's own time is left out, and comes back") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location), Idle("1 minute"))
      run(counted(df))(
        mark {
          log.note("eu", millis("10:00"), number(0), at = 100); log.note("us", millis("10:01"), number(0), at = 100)
        },
        AddData(stream, ("a", at("10:05"))),
        after(200000),
        originsAre("time" -> Some(millis("10:00"))),
        mark(log.note("us", millis("10:10"), number(1), at = 60100)),
        AddData(stream, ("b", at("10:06"))),
        after(1000),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("10:00", 2L)),
        mark {
          log.note("eu", millis("10:05"), number(2), at = 60200); log.note("us", millis("10:30"), number(2), at = 60200)
        },
        AddData(stream, ("c", at("10:12"))),
        after(1000),
        after(1000),
        originsAre("time" -> Some(millis("10:10"))))
    }
  }

  test("a writer whose host has a slow clock has not stalled, and a writer with a fast clock leaves out no other") {
    withLog { log =>
      val (slow, fast) = (new MarkLog(log.folder), new MarkLog(log.folder))
      slow.aheadMillis = 600000
      fast.aheadMillis = -600000
      val (stream, df) = input(Noted(log.location), Idle("5 minutes"))
      run(counted(df))(
        mark {
          log.note("eu", millis("10:20"), number(0), at = 1000000)
          slow.note("us", millis("10:00"), number(0), at = 400000)
          fast.note("uk", millis("10:20"), number(0), at = 1600000)
        },
        AddData(stream, ("a", at("10:05"))),
        after(1010000),
        AddData(stream, ("b", at("10:06"))),
        after(1000),
        originsAre("time" -> Some(millis("10:00"))),
        // Nothing is heard of it for as long.
        mark(log.note("eu", millis("10:30"), number(0), at = 1300000)),
        mark(fast.note("uk", millis("10:30"), number(0), at = 1900000)),
        AddData(stream, ("c", at("10:07"))),
        after(300000),
        until(watermarkOf("time")(_).contains(millis("10:30"))))
    }
  }

  test("a mark with another kind of position stops the query by name") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      log.note("eu", millis("10:10"), """{"files":["a"]}""")
      testStream(counted(df))(
        StartStream(),
        AddData(stream, ("a", at("10:05"))),
        expectRefusal("MARK_POSITION_MISMATCH", "writer" -> "eu", "position" -> "files"))
    }
  }

  test("deduplication within a watermark without delay is refused by name") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      testStream(df.dropDuplicatesWithinWatermark("id"))(
        StartStream(),
        AddData(stream, ("a", at("10:05"))),
        expectRefusal("NOTED_NEEDS_DELAY", "column" -> "time"))
      val (delayed, late) = input(Noted(log.location), delay = "1 minute")
      log.note("eu", millis("10:10"), number(0))
      run(late.dropDuplicatesWithinWatermark("id").select("id"))(
        AddData(delayed, ("a", at("10:12")), ("a", at("10:13"))),
        move(1000),
        CheckNewAnswer("a"),
        originsAre("time" -> Some(millis("10:09"))))
    }
  }

  test("rows wait until all writers have noted their time, and come out in order") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      val ordered = inOrder(df, "time", OrderOptions(by = Seq($"id"))).as[(String, Timestamp)].mapPartitions { rows =>
        rows.zipWithIndex.map { case ((id, time), at) => (id, time, at) }
      }.toDF("id", "time", "at").select($"id", date_format($"time", "HH:mm"), $"at")
      run(ordered)(
        mark { log.alive("eu"); log.alive("us") },
        AddData(stream, ("a", at("10:08")), ("a", at("11:30")), ("a", at("10:05"))),
        after(1000),
        mark(log.note("eu", millis("10:10"), number(0))),
        after(1000),
        CheckNewAnswer(),
        mark(log.note("us", millis("10:30"), number(0))),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("a", "10:05", 0), ("a", "10:08", 1)),
        StopStream,
        StartStream(),
        // The second one is late: both writers have noted more.
        AddData(stream, ("a", at("10:20")), ("a", at("10:09"))),
        after(1000),
        mark(log.note("eu", millis("10:20"), number(1))),
        until(watermarkOf("time")(_).contains(millis("10:20"))),
        after(1000),
        CheckNewAnswer(("a", "10:20", 0)),
        Execute(query =>
          assert(query.recentProgress.flatMap(one =>
            Option(one.observedMetrics.get("tidemark"))).map(_.getAs[Long]("promises_broken")).sum === 1)))
    }
  }

  // Each keeps rows, and so emits some after their marks have been passed.
  private val withState = Seq[(String, DataFrame => DataFrame)](
    "dropDuplicates" -> (_.dropDuplicates("id", "time")),
    "DISTINCT" -> (_.select("id", "time").distinct()),
    "a limit" -> (_.limit(100)),
    "flatMapGroupsWithState" -> (
      _.as[(Int, Timestamp)].groupByKey(_._1).flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.NoTimeout)(
        NotedInputSuite.emitsAll).toDF("id", "time")),
    "an order" -> (inOrder(_, "time", OrderOptions(by = Seq($"id")))))

  for ((name, state) <- withState)
    test(s"a watermark by marks above $name is refused by name") {
      withLog { log =>
        val (stream, df) = timed("time", "0 seconds")
        val above = state(df).select(($"time" + expr("INTERVAL 1 MINUTE")).as("later"))
        testStream(withWatermark(above, "later", "0 seconds", WatermarkOptions(noted = Some(Noted(log.location)))))(
          StartStream(),
          AddData(stream, 1 -> at("10:05")),
          expectRefusal("NOTED_SOURCE_UNKNOWN", "column" -> "later"))
      }
    }

  test("an aggregation of a table below a watermark by marks is no state") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      val names = Seq("a" -> 1, "a" -> 2).toDF("id", "n").groupBy("id").count().select("id")
      val joined = df.select("id", "time").join(names, "id").select($"id", $"time".as("at"))
      run(withWatermark(joined, "at", "0 seconds", WatermarkOptions(noted = Some(Noted(log.location)))).select("id"))(
        AddData(stream, ("a", at("10:05"))),
        after(1000),
        CheckNewAnswer("a"))
    }
  }

  test("a source that reads the newest files first is refused by name") {
    withLog { log =>
      val folder = log.folder.getParentFile
      Files.writeString(new File(folder, "1.json").toPath, """{"time":"2024-03-01T10:05:00Z"}""")
      val files = spark.readStream.schema("time timestamp").option("LatestFirst", true).json(folder.getPath)
      testStream(withWatermark(files, "time", "0 seconds", WatermarkOptions(noted = Some(Noted()))))(
        StartStream(),
        expectRefusal(
          "NOTED_SOURCE_UNKNOWN",
          "column" -> "time",
          "reason" ->
            ("its source reads the newest files first (latestFirst), and what writers note begins with the " +
              "oldest")))
    }
  }

  test("a source of files whose path has wildcards is refused by name, wherever its marks are") {
    withLog { log =>
      val folder = log.folder.getParentFile
      Files.writeString(new File(folder, "1.json").toPath, """{"time":"2024-03-01T10:05:00Z"}""")
      for (noted <- Seq(Noted(), Noted(log.location))) {
        val path = s"${folder.getPath}/*.json"
        val files = spark.readStream.schema("time timestamp").json(path)
        testStream(withWatermark(files, "time", "0 seconds", WatermarkOptions(noted = Some(noted))))(
          StartStream(),
          expectRefusal(
            "NOTED_SOURCE_UNKNOWN",
            "column" -> "time",
            "reason" -> s"its path '$path' has wildcards, and marks name files below the one folder that is read"))
      }
    }
  }

  test("a mark log in Kafka needs brokers, and Spark's connector") {
    val brokers = Map("kafka.bootstrap.servers" -> "nowhere:1")
    for {
      (noted, code) <- Seq(
        Noted("kafka:marks/orders") -> "INVALID_OPTION",
        Noted("kafka:marks/orders").copy(options = brokers) -> "NO_KAFKA_CONNECTOR")
    } {
      val (stream, df) = input(noted)
      testStream(counted(df))(
        StartStream(),
        AddData(stream, ("a", at("10:05"))),
        expectRefusal(code))
    }
    val reason =
      "has the option 'noted', which is neither a folder, nor kafka:<topic> or kafka:<topic>/<stream>, nor true"
    for (wrong <- Seq("kafka:", "kafka:a b", ""))
      assertRefused("INVALID_EVENT_TIME", "reason" -> reason)(input(Noted(wrong)))
  }

  test("an input without marks holds a union, and is left out when it is idle") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location), Idle("1 minute"))
      val (other, plain) = timed("time", "0 seconds")
      run(counted(df.select("time").union(plain.select("time"))))(
        AddData(other, 1 -> at("10:05"), 2 -> at("10:30")),
        AddData(stream, ("a", at("10:01"))),
        move(1000),
        AddData(other, 3 -> at("10:31")),
        move(1000),
        CheckNewAnswer(),
        AddData(other, 4 -> at("10:32")),
        move(70000),
        AddData(other, 5 -> at("10:33")),
        move(1000),
        move(1000),
        CheckNewAnswer(("10:00", 2L)))
    }
  }

  test("files are passed mark by mark, and what is available now is read to its end") {
    withLog { log =>
      val folder = log.folder.getParentFile
      val name = "a b%20c.json"
      def write(file: String, times: String*): Unit = {
        val rows = times.map(time => s"""{"time":"2024-03-01T$time:00Z"}""").mkString("", "\n", "\n")
        Files.writeString(new File(folder, file).toPath, rows)
        ()
      }
      write("1.json", "10:05")
      write(name, "10:15", "10:07")
      log.note("eu", millis("10:04"), """{"files":["1.json"]}""")
      log.note("eu", millis("10:16"), s"""{"files":["$name"]}""")
      def df = {
        val rows = spark.readStream.schema("time timestamp").option("maxFilesPerTrigger", 1L).json(folder.getPath)
        counted(withWatermark(rows, "time", "0 seconds", WatermarkOptions(noted = Some(Noted()))))
      }
      withTempDir { checkpoint =>
        def runOnce(): Unit = df.writeStream.format("noop").trigger(Trigger.AvailableNow())
          .option("checkpointLocation", checkpoint.getPath).outputMode("update").start().awaitTermination()
        runOnce()
        def watermark = entry(checkpoint, list(checkpoint).max).origins.values.head.watermark.millis
        assert(watermark.contains(millis("10:16")))
        // The next file has not arrived yet: its mark holds, and the file after it does not help.
        log.note("eu", millis("10:30"), """{"files":["2.json"]}""")
        log.note("eu", millis("10:40"), """{"files":["3.json"]}""")
        write("3.json", "10:39")
        runOnce()
        assert(watermark.contains(millis("10:16")))
        write("2.json", "10:29")
        runOnce()
        assert(watermark.contains(millis("10:40")))
        assert(spark.read.json(s"${folder.getPath}/*.json").count() === 5)
      }
    }
  }

  test("a new query loses no row of files whose marks were purged") {
    withLog { log =>
      val folder = log.folder.getParentFile
      for (n <- 0 until 6) {
        val file = new File(folder, s"$n.json")
        Files.writeString(file.toPath, s"""{"time":"2024-03-01T1$n:05:00Z"}\n""")
        // The source reads the oldest file first, and a copy has changed the order.
        file.setLastModified(1700000000000L + 1000L * (n * 5 % 6))
        log.note("eu", millis(s"1$n:30"), s"""{"files":["$n.json"]}""")
      }
      for (minute <- 31 to 39) log.note("eu", millis(s"15:$minute"), """{"files":[]}""")
      log.note("eu", millis("16:00"), """{"files":[]}""")
      log.purge("eu", left = 5)
      withTempDir { checkpoint =>
        val rows = spark.readStream.schema("time timestamp").option("maxFilesPerTrigger", 1L).json(folder.getPath)
        val noted = withWatermark(rows, "time", "0 seconds", WatermarkOptions(noted = Some(Noted())))
        counted(noted).writeStream.format("memory").queryName("purged").trigger(Trigger.AvailableNow())
          .option("checkpointLocation", checkpoint.getPath).start().awaitTermination()
        checkAnswer(spark.table("purged"), (0 until 6).map(n => Row(s"1$n:00", 1L)))
      }
    }
  }

  for (time <- Seq(Long.MaxValue, 10000000000000000L, Long.MaxValue / 1000))
    test(s"a noted time at the end of the clock emits what has been read, also after a restart: $time") {
      withLog { log =>
        val (stream, df) = input(Noted(log.location), delay = "1 minute")
        run(counted(df))(
          mark(log.note("eu", time, number(0))),
          AddData(stream, ("a", at("10:05"))),
          until(watermarkOf("time")(_).exists(_ > millis("23:00"))),
          after(1000),
          CheckNewAnswer(("10:00", 1L)),
          StopStream,
          StartStream(),
          AddData(stream, ("late", at("10:06"))),
          after(1000),
          CheckNewAnswer())
      }
    }

  for (time <- Seq(Long.MinValue, -10000000000000000L, Long.MinValue / 1000))
    test(s"a noted time at the beginning of the clock loses no row, and later times go on from it: $time") {
      withTempDir { checkpoint =>
        withLog { log =>
          val (stream, df) = input(Noted(log.location), delay = "1 minute")
          val lower = df.select(timeWindow($"time").getField("lower").isNull.as("isUnknown"), $"time")
          val start = StartStream(checkpointLocation = checkpoint.getPath)
          run(counted(lower.where($"isUnknown" || $"time" > timeWindow($"time").getField("lower"))))(
            start,
            mark(log.note("eu", time, number(0))),
            AddData(stream, ("a", at("10:05"))),
            until(watermarkOf("time")(_).exists(_ < 0)),
            AddData(stream, ("b", at("10:06"))),
            after(1000),
            StopStream,
            start,
            AddData(stream, ("c", at("10:07"))),
            after(1000),
            CheckNewAnswer(),
            mark(log.note("eu", millis("10:30"), number(2))),
            until(watermarkOf("time")(_).contains(millis("10:29"))),
            after(1000),
            CheckNewAnswer(("10:00", 3L)))
          val entries = spark.sql(s"SELECT unix_micros(watermark) FROM tidemark_log('${checkpoint.getPath}')").collect()
          assert(entries.head.getLong(0) === Long.MinValue && entries.last.getLong(0) === millis("10:29") * 1000)
        }
      }
    }

  private def list(checkpoint: File): Seq[Long] =
    new File(checkpoint, "tidemark").list().toSeq.flatMap(_.toLongOption)

  test("splits and a mark log together are refused") {
    val rows = MemoryStream[(String, Timestamp)].toDF().toDF("id", "time")
    val options = WatermarkOptions(splitBy = SplitBy(col("id")), noted = Some(Noted("log")))
    val reason = "is given both splits and a mark log, whose writers are the splits"
    assertRefused("INVALID_EVENT_TIME", "reason" -> reason)(withWatermark(rows, "time", "0 seconds", options))
  }
}

private object NotedInputSuite {
  val emitsAll: (Int, Iterator[(Int, Timestamp)], GroupState[Int]) => Iterator[(Int, Timestamp)] = (_, rows, _) => rows
}
