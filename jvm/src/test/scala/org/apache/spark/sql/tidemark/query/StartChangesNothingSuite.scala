package org.apache.spark.sql.tidemark.query

import java.io.File
import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.{SparkConf, SparkThrowable}
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.support.{MortalFileSystem, TwoStreams}

/** A start writes nothing that another run, another driver or a restart after a kill could need. */
class StartChangesNothingSuite extends TwoStreams {
  import testImplicits._

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set("spark.hadoop.fs.file.impl", classOf[MortalFileSystem].getName)
      // Otherwise Hadoop's cache returns the file system of another suite.
      .set("spark.hadoop.fs.file.impl.disable.cache", "true")

  private val mayFallSilent: Query = (a, b) =>
    counted(withWatermark(a, "ta", "0 seconds", WatermarkOptions(idle = Idle("1 hour"))), "ta").union(counted(b, "tb"))

  private val silentSplits: Query = (a, _) =>
    counted(
      withWatermark(a, "ta", "0 seconds", WatermarkOptions(splitBy = SplitBy($"a" % 3), idle = Idle("1 hour"))),
      "ta")

  private val queries = Seq(
    "a query of two counts" -> unionOfCounts,
    "a query with a carried column" -> carriedColumn,
    "a query with splits" -> silentSplits,
    "a query with an input that may be idle" -> mayFallSilent,
    "a join" -> outerJoinAndCounts)

  private def contents(checkpoint: File): Map[String, Seq[Byte]] = {
    val all = Files.walk(checkpoint.toPath)
    try all.iterator.asScala.filter(Files.isRegularFile(_)).map(path => name(checkpoint, path) -> bytes(path)).toMap
    finally all.close()
  }
  private def name(checkpoint: File, path: Path) = checkpoint.toPath.relativize(path).toString
  private def bytes(path: Path) = Files.readAllBytes(path).toSeq

  for ((name, query) <- queries)
    test(s"a start without rows changes no file of the checkpoint: $name") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        recorder.run(query(inputs.a, inputs.b))(inputs.wandering.take(3): _*)
        val before = contents(checkpoint)
        for (_ <- 1 to 2) recorder.run(query(inputs.a, inputs.b))()
        assert(contents(checkpoint) === before)
      }
    }

  /** Steps of a history, of which each is taken once, whatever happens to the query. */
  private final class Steps(all: Seq[Step]) {
    private var taken = 0
    def next(): Option[Step] = Option.when(taken < all.size)(() => {
      val step = all(taken)
      taken += 1
      step()
    })
    def take(running: StreamingQuery, many: Int): Unit =
      for (_ <- 0 until many; step <- next()) StartChangesNothingSuite.this.take(running, step)
  }

  /** What the sink has: the rows of each batch. A batch that comes again replaces itself. */
  private final class Sink {
    private val written = new ConcurrentHashMap[Long, Seq[String]]
    def rows: Seq[String] = written.values.asScala.flatten.toSeq.sorted
    def start(df: DataFrame, checkpoint: File, atSink: Long => Unit = _ => ()): StreamingQuery = {
      val write = (batch: Dataset[Row], id: Long) => {
        written.put(id, batch.collect().map(_.toString).toSeq)
        atSink(id)
      }
      df.writeStream.option("checkpointLocation", checkpoint.getCanonicalPath).foreachBatch(write).start()
    }
  }

  private def run(sink: Sink, df: DataFrame, checkpoint: File)(body: StreamingQuery => Unit): Unit = {
    val running = sink.start(df, checkpoint)
    try {
      running.processAllAvailable()
      body(running)
    } finally running.stop()
  }

  /** @param which the numbers of the changes at which it is killed */
  private def killed(name: String, query: Query, which: Int => Boolean, ofFiles: MortalFileSystem.Renames*): Unit =
    test(s"a start that is killed at a change of a file loses nothing: $name") {
      keptBy(classOf[FileSystemBasedCheckpointFileManager]) {
        val straight = new Inputs
        val expected = rows(record("append", query(straight.a, straight.b), straight.wandering))
        assert(expected.nonEmpty)
        for {
          renames <- ofFiles
          isLastMade <- Seq(false, true)
        } {
          MortalFileSystem.renames = renames
          try {
            val kills = Iterator.from(0).filter(which).takeWhile(isKilled(query, _, isLastMade, expected)).size
            assert(kills > 0)
          } finally MortalFileSystem.renames = MortalFileSystem.Atomic
        }
      }
    }

  /** Kills the second run of a query, and runs it to its end in a third one; whether the second was killed. */
  private def isKilled(query: Query, change: Int, isLastMade: Boolean, expected: Seq[String]): Boolean = {
    var wasKilled = false
    withTempDir { checkpoint =>
      val (inputs, sink) = (new Inputs, new Sink)
      val steps = new Steps(inputs.wandering)
      // The second step brings rows to the first input, which all of the queries read.
      run(sink, query(inputs.a, inputs.b), checkpoint)(steps.take(_, 1))
      MortalFileSystem.dyingAt(change.toLong, isLastMade) {
        val ended = Try(run(sink, query(inputs.a, inputs.b), checkpoint)(steps.take(_, 1)))
        wasKilled = MortalFileSystem.isDead
        assert(wasKilled || ended.isSuccess, ended)
      }
      val lastMade = MortalFileSystem.made.asScala.lastOption
      withClue(s"(change $change, after $lastMade)") {
        run(sink, query(inputs.a, inputs.b), checkpoint)(steps.take(_, 5))
        assert(sink.rows === expected)
      }
    }
    wasKilled
  }

  killed("a query with a carried column", carriedColumn, _ % 5 == 2, MortalFileSystem.Atomic)
  moreTests {
    for ((name, query) <- queries)
      killed(s"$name, at each change", query, _ => true, MortalFileSystem.Atomic, MortalFileSystem.CopyAndDelete)
  }

  // A second driver: the same checkpoint by another path, as one Spark does not run the same query twice.
  private def sameCheckpoint(checkpoint: File, other: File): Unit = {
    Files.writeString(new File(other, "metadata").toPath, s"""{"id":"${UUID.randomUUID}"}""")
    for (name <- Seq("offsets", "commits", "sources", "state", "tidemark")) {
      Files.createDirectories(new File(checkpoint, name).toPath)
      Files.createSymbolicLink(new File(other, name).toPath, new File(checkpoint, name).toPath)
    }
  }

  /** Where a driver waits in its batch. */
  private sealed abstract class Point(val change: (String, String))
  private case object BeforeOffsets extends Point("rename" -> "offsets")
  private case object BeforeEntry extends Point("rename" -> "tidemark")
  private case object BeforeCommit extends Point("rename" -> "commits")
  private case object InSink extends Point("" -> "")
  private case object Nowhere extends Point("" -> "")

  /** A gate at which a driver waits once. */
  private final class Gate {
    private val (arrived, opened) = (new CountDownLatch(1), new CountDownLatch(1))
    private val isFirst = new AtomicBoolean(true)
    def pass(): Unit = if (isFirst.getAndSet(false)) {
      arrived.countDown()
      opened.await()
    }
    def open(): Unit = opened.countDown()
    def hasArrived: Boolean = arrived.getCount == 0
  }

  private def ended(query: StreamingQuery): Option[String] = query.exception.map { failed =>
    causes(failed).map {
      case known: SparkThrowable => s"${known.getCondition} $known"
      case other => other.toString
    }.mkString("; ")
  }

  private def drivers(firstAt: Point, secondAt: Point): Unit =
    test(s"of two drivers the one that Spark lets live goes on: the first waits $firstAt, the second $secondAt") {
      keptBy(classOf[FileSystemBasedCheckpointFileManager])(withTempDir { input =>
        withTempDir { checkpoint =>
          withTempDir { other =>
            var files = 0
            def put(times: String*): Unit = {
              files += 1
              val rows = times.map(time => s"""{"a":1,"ta":"2024-03-01T$time:00Z"}""").mkString("\n")
              val hidden = new File(input, s".$files").toPath
              Files.move(Files.writeString(hidden, rows), new File(input, s"$files.json").toPath)
            }
            def query =
              counted(
                spark.readStream.schema("a INT, ta TIMESTAMP").json(input.getPath).withWatermark("ta", "0 seconds"),
                "ta")
            // The last batch before the one that both drivers may run.
            @volatile var last = Long.MaxValue - 1
            val gates = Map(
              checkpoint.getCanonicalPath -> (firstAt -> new Gate),
              other.getCanonicalPath -> (secondAt -> new Gate))
            def atSink(of: File): Long => Unit = {
              val (point, gate) = gates(of.getCanonicalPath)
              batch => if (point == InSink && batch == last + 1) gate.pass()
            }
            MortalFileSystem.before = (what, file) =>
              for ((root, (point, gate)) <- gates if file.toUri.getPath.startsWith(root)) {
                val isThere = point.change == (what -> file.getParent.getName)
                if (isThere && file.getName == (last + 1).toString) gate.pass()
              }
            val (firstGate, secondGate) = (gates(checkpoint.getCanonicalPath)._2, gates(other.getCanonicalPath)._2)
            val sink = new Sink
            sameCheckpoint(checkpoint, other)
            val first = sink.start(query, checkpoint, atSink(checkpoint))
            var second: StreamingQuery = null
            try {
              put("10:00")
              first.processAllAvailable()
              put("10:30")
              first.processAllAvailable()
              last = commits(checkpoint).last
              if (firstAt == Nowhere) {
                // The healthy one is idle while the second one starts, and is stopped.
                second = sink.start(query, other, atSink(other))
                second.processAllAvailable()
                if (secondAt == Nowhere) second.stop()
              }
              put("11:00")
              eventually(timeout(streamingTimeout))(assert(firstGate.hasArrived || firstAt == Nowhere))
              if (second == null) second = sink.start(query, other, atSink(other))
              eventually(timeout(streamingTimeout)) {
                assert(secondGate.hasArrived || !second.isActive || commits(checkpoint).last > last)
              }
              firstGate.open()
              eventually(timeout(streamingTimeout)) {
                assert(!first.isActive || commits(checkpoint).last > last)
              }
              secondGate.open()
              def living = Seq(first, second).filter(_.isActive)
              eventually(timeout(streamingTimeout)) {
                // Spark stops at least one when both run the same batch.
                assert(commits(checkpoint).last > last)
              }
              // One of them may only now see that the other one has begun its batch. Spark may stop both: as one writes the
              // log of the source first, and the other one its offsets.
              put("11:30")
              living.foreach(one => Try(one.processAllAvailable()))
              put("12:00")
              living.foreach(one => Try(one.processAllAvailable()))
              for (query <- Seq(first, second); why <- ended(query))
                assert(why.toLowerCase.contains("concurrent") && !why.contains("Tidemark"), why)
              if (firstAt == Nowhere && secondAt == Nowhere) assert(first.isActive)
            } finally {
              gates.values.foreach(_._2.open())
              Seq(first, second).filter(_ != null).foreach(_.stop())
              MortalFileSystem.before = (_, _) => ()
            }
            // A restart goes on with what exists.
            run(sink, query, checkpoint) { running =>
              put("12:30")
              running.processAllAvailable()
            }
            assert(sink.rows === Seq("10:00", "10:30", "11:00", "11:30", "12:00").map(start => s"[ta,$start,1]"))
          }
        }
      })
    }

  private def commits(checkpoint: File): Seq[Long] = batchesIn(checkpoint, "commits")

  private val points = Seq(Nowhere, BeforeOffsets, InSink, BeforeEntry, BeforeCommit)
  private val inBoth = Set[(Point, Point)](Nowhere -> Nowhere, BeforeEntry -> BeforeCommit)
  for ((firstAt, secondAt) <- inBoth) drivers(firstAt, secondAt)
  moreTests {
    for {
      firstAt <- points
      secondAt <- points if !inBoth(firstAt -> secondAt)
    } drivers(firstAt, secondAt)
  }
}
