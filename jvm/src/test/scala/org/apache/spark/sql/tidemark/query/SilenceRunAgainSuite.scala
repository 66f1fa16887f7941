package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.plan.Decision
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.tidemark.support.SilenceTest

/** A split that was idle in a batch is idle again when the batch is rerun an hour later by the clock, and no other split
  * is.
  */
class SilenceRunAgainSuite extends SilenceTest {
  import testImplicits._

  private type Readings = MemoryStream[(String, Timestamp)]

  /** What a batch has worked with, and what it has left: all but when it has ended. */
  private def done(entry: WatermarkEntry): (Decision, Map[OriginName, Seq[Any]]) = (
    entry.decision,
    entry.origins.map { case (name, state) =>
      val splits = state.splits
      def split(number: Int) = (SplitNameTable.show(splits.name(number)), splits.clock(number), splits.state(number))
      val ofSplits = (0 until splits.size).map(split).sortBy(_._1)
      name -> Seq(state.watermark, state.maxEventTimeMillis, state.farAheadRows, ofSplits)
    })

  /** @param history what leads to the batch in question, its last one
    * @param inQuestion what that batch is about, of its decision and its entry
    * @param after what is brought then, and what comes out
    */
  private def sameAgain(name: String, query: => (Readings, DataFrame))(history: Readings => Seq[StreamAction])(
      inQuestion: WatermarkEntry => Boolean)(after: Readings => Seq[StreamAction]): Unit =
    test(name) {
      withTempDir { checkpoint =>
        val (stream, df) = query
        val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
        var last = 0L
        lazy val first = entry(checkpoint, last)
        run(df)(
          start +: history(stream) :+
            Execute { query =>
              last = watermarksOf(query).view.get.snapshot.entry.batch
              assert(inQuestion(first))
            } :+ StopStream :+
            Execute { _ =>
              setBack(checkpoint, last)
              moveWithin(3600000)
            } :+ start :+
            Execute(_ => assert(done(entry(checkpoint, last)) === done(first))) :++ after(stream): _*)
      }
    }

  private def watermarks(entry: WatermarkEntry): Set[Watermark] = entry.decision.origins.values.toSet

  private def ofDevices(options: WatermarkOptions): (Readings, DataFrame) = {
    val (stream, df) = readings
    stream -> counted(withWatermark(df, "time", "0 seconds", options.copy(splitBy = SplitBy($"device"))))
  }

  private def early(minutes: Long) = new Timestamp(minutes * 60000)

  private def whole(options: WatermarkOptions): (Readings, DataFrame) = {
    val (stream, df) = readings
    stream -> counted(withWatermark(df, "time", "0 seconds", options))
  }

  sameAgain("a rerun batch in which a split became idle makes the same decision", ofDevices(tenSeconds)) { stream =>
    more(stream, "a" -> "10:00", "b" -> "10:05") ++ minutes(stream, 11 to 21)
  }(entry => watermarks(entry) === Set(Watermark.At(millis("10:20"))) && entry.origins.head._2.splits.idle == 1) {
    stream =>
      more(stream, "a" -> "10:22") ++ Seq(CheckNewAnswer(("10:00", 2L), ("10:10", 9L)))
  }

  moreTests {
    sameAgain("a rerun batch before a split becomes idle makes the same decision", ofDevices(tenSeconds)) { stream =>
      more(stream, "a" -> "10:00", "b" -> "10:05") ++ minutes(stream, 11 to 15)
    }(entry => watermarks(entry) === Set(Watermark.At(millis("10:05"))) && entry.origins.head._2.splits.idle == 0) {
      stream =>
        more(stream, "a" -> "10:16") ++ Seq(second, CheckNewAnswer(), originsAre("time" -> Some(millis("10:05"))))
    }

    sameAgain(
      "a rerun no-data batch after all splits became idle makes the same decision",
      ofDevices(tenSeconds.copy(idle = tenSeconds.idle.copy(whenAll = Some("rise"))))) { stream =>
      more(stream, "a" -> "10:00", "a" -> "10:35", "b" -> "10:05") ++ seconds(10)
    }(entry => watermarks(entry) === Set(Watermark.Idle(Some(millis("10:35"))))) { stream =>
      more(stream, "a" -> "10:36") ++ Seq(second, CheckNewAnswer(("10:00", 2L)))
    }

    // Event times near the clock, which begins at 0.
    sameAgain(
      "a rerun batch in which an idle input advances by the clock makes the same decision",
      whole(tenSeconds.copy(idle = tenSeconds.idle.copy(whenAll = Some("advance"))))) {
      stream => Seq(AddData(stream, "a" -> early(0)), second, AdvanceManualClock(300000), AdvanceManualClock(310000))
    }(entry => watermarks(entry).head.millis.exists(reached => reached > 600000 && reached <= 611000)) { _ => Nil }

    sameAgain(
      "a rerun batch with a row too far ahead of the clock makes the same decision",
      whole(WatermarkOptions(maxAhead = Some("90 minutes")))) {
      stream =>
        Seq(AddData(stream, "a" -> early(60)), second, AddData(stream, "a" -> early(70), "a" -> early(120)), second)
    }(_.origins.head._2.farAheadRows == 1) { stream =>
      Seq(originsAre("time" -> Some(70 * 60000L)), AddData(stream, "a" -> early(121)), second) :+
        originsAre("time" -> Some(121 * 60000L))
    }
  }
}
