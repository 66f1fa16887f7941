package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import io.tidemark.{Noted, OrderOptions, SplitBy, WatermarkOptions}
import io.tidemark.functions.{inOrder, withWatermark}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}
import org.apache.spark.sql.tidemark.support.NotedInputTest

/** Inputs whose watermark cannot follow the times that writers note, and how each is refused. */
class NotedInputRefusalsSuite extends NotedInputTest {
  import testImplicits._

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

  // Each keeps rows, and so emits some after their marks have been passed.
  private val withState = Seq[(String, DataFrame => DataFrame)](
    "dropDuplicates" -> (_.dropDuplicates("id", "time")),
    "DISTINCT" -> (_.select("id", "time").distinct()),
    "a limit" -> (_.limit(100)),
    "flatMapGroupsWithState" -> (
      _.as[(Int, Timestamp)].groupByKey(_._1).flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.NoTimeout)(
        NotedInputRefusalsSuite.emitsAll).toDF("id", "time")),
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

  test("splits and a mark log together are refused") {
    val rows = MemoryStream[(String, Timestamp)].toDF().toDF("id", "time")
    val options = WatermarkOptions(splitBy = SplitBy(col("id")), noted = Some(Noted("log")))
    val reason = "is given both splits and a mark log, whose writers are the splits"
    assertRefused("INVALID_EVENT_TIME", "reason" -> reason)(withWatermark(rows, "time", "0 seconds", options))
  }
}

private object NotedInputRefusalsSuite {
  val emitsAll: (Int, Iterator[(Int, Timestamp)], GroupState[Int]) => Iterator[(Int, Timestamp)] = (_, rows, _) => rows
}
