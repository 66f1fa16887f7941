package org.apache.spark.sql.tidemark.sources

import java.io.File
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.execution.streaming.sources.MemorySink
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{OutputMode, Trigger}
import org.apache.spark.sql.streaming.util.StreamManualClock
import org.apache.spark.sql.tidemark.support.{LimitedLog, ManualClockTest}

/** Which splits are idle while a Data Source V2 limits its files, for each form of its reported latest offset. */
class HeldBackSuite extends ManualClockTest {
  import testImplicits._

  private val rules = WatermarkOptions(idle = Idle("10 seconds"), splitBy = SplitBy(col("device")))

  private def marked(files: Int, shows: String): DataFrame = {
    val log = spark.readStream.format(classOf[LimitedLog].getName).option("files", files.toLong).option("shows", shows)
    withWatermark(log.load(), "time", "0 seconds", rules)
  }

  private def counted(files: Int, shows: String): DataFrame = counted(marked(files, shows))

  private def counted(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w"), $"device")
      .count()
      .select($"device", date_format($"w.start", "HH:mm"), $"count")

  /** Adds rows for the next trigger. */
  private def add(rows: (String, String)*): StreamAction = Execute { _ =>
    triggered()
    rows.foreach { case (device, time) => LimitedLog.add(device, millis(time)) }
  }

  private def after(millis: Long): StreamAction = AdvanceManualClock(millis)

  for (shows <- Seq("nothing", "other words", "compared"))
    test(s"a split is not idle while a file limit holds its rows back (latest offset: $shows)") {
      LimitedLog.begin()
      run(counted(files = 1, shows))(
        add("a" -> "10:00", "b" -> "10:00"),
        after(1000),
        after(1000),
        // Each batch reads one file and takes a minute, six times the idle time.
        add("a" -> "12:00", "a" -> "12:10", "a" -> "12:20", "b" -> "10:05"),
        after(60000),
        after(60000),
        after(60000),
        after(60000),
        originsAre("time" -> Some(millis("10:05"))),
        CheckNewAnswer(),
        add("b" -> "12:00"),
        after(60000),
        after(1000),
        CheckNewAnswer(("a", "10:00", 1L), ("b", "10:00", 2L)))
    }

  for ((files, shows) <- Seq(Int.MaxValue -> "other words", Int.MaxValue -> "compared", 2 -> "compared"))
    test(s"a silent split becomes idle while another trickles ($files files per batch, latest offset: $shows)") {
      LimitedLog.begin()
      run(counted(files, shows))(
        add("a" -> "10:00", "b" -> "10:00"),
        after(1000),
        add("a" -> "10:30"),
        after(20000),
        add("a" -> "10:31"),
        after(20000),
        add("a" -> "10:32"),
        after(20000),
        originsAre("time" -> Some(millis("10:32"))),
        CheckNewAnswer(("a", "10:00", 1L), ("b", "10:00", 1L)))
    }

  /** Runs the query on the available files, one in each batch. A batch takes a minute, six times the idle time.
    * @param inLast adds rows in the batch that reads the last file
    */
  private def runOnce(checkpoint: File, clock: StreamManualClock)(inLast: => Unit): Set[Row] = {
    val last = LimitedLog.size
    HeldBackSuite.inBatch.set { () =>
      clock.advance(60000)
      if (HeldBackSuite.read.incrementAndGet() == last) inLast
    }
    val slow = udf { (device: String) =>
      HeldBackSuite.inBatch.get()()
      device
    }
    val df = counted(marked(files = 1, "nothing").filter(slow.asNondeterministic()($"device") =!= ""))
    val sink = new MemorySink
    val query = spark.asInstanceOf[classic.SparkSession].sessionState.streamingQueryManager.startQuery(
      None,
      None,
      Some(checkpoint.getCanonicalPath),
      df,
      Map.empty,
      sink,
      OutputMode.Append,
      trigger = Trigger.AvailableNow(),
      triggerClock = clock)
    query.awaitTermination()
    sink.allData.toSet
  }

  test("a split does not become idle in an AvailableNow run, because the run does not see rows that arrive later") {
    LimitedLog.begin()
    HeldBackSuite.read.set(0)
    withTempDir { checkpoint =>
      val clock = new StreamManualClock
      Seq("a" -> "10:00", "b" -> "10:00", "a" -> "12:00", "a" -> "12:10").foreach { case (device, time) =>
        LimitedLog.add(device, millis(time))
      }
      assert(runOnce(checkpoint, clock)(LimitedLog.add("b", millis("10:05"))) === Set.empty)
      // This run reads the row that arrived during the run before.
      LimitedLog.add("b", millis("12:10"))
      assert(runOnce(checkpoint, clock)(()) ===
        Set(Row("a", "10:00", 1L), Row("b", "10:00", 2L), Row("a", "12:00", 1L)))
    }
  }
}

private object HeldBackSuite {

  /** What happens when a batch reads a row. */
  val inBatch = new AtomicReference[() => Unit](() => ())

  /** How many rows were read. */
  val read = new AtomicInteger
}
