package org.apache.spark.sql.tidemark

import java.io.File
import java.sql.Timestamp

import io.tidemark.WatermarkOptions
import io.tidemark.functions.withWatermark
import io.tidemark.oracle.{Case, Oracle, Query, RandomCase, Step}
import io.tidemark.oracle.Query._

import org.apache.spark.SparkConf
import org.apache.spark.sql.{classic, Column, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution, StreamingQueryWrapper}
import org.apache.spark.sql.execution.streaming.sources.MemorySink
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode, Trigger}
import org.apache.spark.sql.streaming.util.StreamManualClock

/** Runs a case as a query of Spark's with the engine on, trigger by trigger of a clock that only the case moves. */
trait OracleComparison extends KeyedWatermarkTest {
  import OracleComparison._
  import testImplicits._

  override protected def sparkConf: SparkConf = super.sparkConf.set(SQLConf.SHUFFLE_PARTITIONS.key, "1")

  /** What differs, in words; `None` where both have the same in every step. */
  protected def difference(one: Case)(
      actual: Case => Seq[Option[Oracle.Batch]],
      expected: Case => Seq[Option[Oracle.Batch]]): Option[String] =
    try
      expected(one).zip(actual(one)).zipWithIndex.collectFirst {
        case ((wanted, found), step) if wanted != found =>
          s"step $step of $one\n  expected: ${wanted.getOrElse("no batch")}\n  found: ${found.getOrElse("no batch")}"
      }
    catch { case e: Exception => Some(s"$one\n  failed: ${e.toString.linesIterator.next()}") }

  /** What comes of each step of a case. */
  protected def engine(one: Case): Seq[Option[Oracle.Batch]] = {
    var result = Seq.empty[Option[Oracle.Batch]]
    withTempDir { checkpoint =>
      val driver = new Driver(one.query, checkpoint)
      try result = one.steps.map(driver.take)
      finally driver.stop()
    }
    result
  }

  private final class Driver(query: Query, checkpoint: File) {
    private val streams = query.nodes.collect { case i: Input => i.number -> MemoryStream[(Int, Int)] }.toMap
    private val sink = new MemorySink
    private val clock = new StreamManualClock(RandomCase.Begin * 1000L)
    private var running = start()
    private var last = sink.latestBatchId

    def take(step: Step): Option[Oracle.Batch] = {
      if (step.restart) {
        running.stop()
        running = start()
      }
      step.rows.foreach { case (input, rows) => if (rows.nonEmpty) streams(input).addData(rows) }
      clock.advance(step.seconds * 1000L)
      waited(running)
      if (sink.latestBatchId == last) None
      else {
        assert(sink.latestBatchId.get == last.fold(0L)(_ + 1))
        last = sink.latestBatchId
        Some(Oracle.Batch(sink.latestBatchData.map(_.getString(0)).sorted, late(last.get)))
      }
    }

    def stop(): Unit = running.stop()

    private def start(): StreamExecution = {
      val session = spark.asInstanceOf[classic.SparkSession]
      val started = session.sessionState.streamingQueryManager.startQuery(
        None,
        None,
        Some(checkpoint.getCanonicalPath),
        texts(query, streams).asInstanceOf[classic.Dataset[_]],
        Map.empty,
        sink,
        mode(query),
        trigger = Trigger.ProcessingTime("1 second"),
        triggerClock = clock)
      val begun = started.asInstanceOf[StreamingQueryWrapper].streamingQuery
      waited(begun)
      begun
    }

    /** Until the trigger that the clock asks for has done its work. */
    private def waited(query: StreamExecution): Unit = {
      eventually(timeout(streamingTimeout)) {
        assert(query.exception.nonEmpty || clock.isStreamWaitingAt(clock.getTimeMillis()))
      }
      query.exception.foreach(throw _)
    }

    private def late(batch: Long): Int =
      running.recentProgress.findLast(_.batchId == batch).map(_.observedMetrics).fold(0) { metrics =>
        Option(metrics.get("tidemark")).fold(0)(_.getAs[Long]("late_rows").toInt)
      }
  }

  private def mode(query: Query): OutputMode = query match {
    case counts: Windows if counts.updates => OutputMode.Update
    case _ => OutputMode.Append
  }

  /** Rows of the query as [[io.tidemark.oracle.Row]] writes them. */
  private def texts(query: Query, streams: Map[Int, MemoryStream[(Int, Int)]]): DataFrame = {
    val built = new Builder(streams).of(query)
    val times = built.times.map(time => coalesce(unix_micros(time).cast("string"), lit("-")))
    built.df.select(concat(built.id.cast("string"), lit("@"), concat_ws(",", times: _*), lit("x"), built.n))
  }

  private final class Builder(streams: Map[Int, MemoryStream[(Int, Int)]]) {
    private val fresh = Iterator.from(0)

    private def built(df: DataFrame, id: Column, n: Column, times: Seq[Column]): Built = {
      val name = fresh.next()
      val named = times.zipWithIndex.map { case (time, at) => time.as(s"t${name}_$at") }
      Built(df.select(Seq(id.as(s"id$name"), n.as(s"n$name")) ++ named: _*), name, times.size)
    }

    private def options(input: Input, id: Column) = WatermarkOptions(
      splitBy = if (input.splits.nonEmpty) Seq(id) else Nil,
      expectedSplits = input.splits.toSeq.flatten.map(split => Seq(Some(split.toString))),
      idleAfter = input.idleAfter.map(seconds => s"$seconds seconds"),
      onReturn = Option.when(input.catchesUp)("catch_up"),
      whenIdle = Some(if (input.advances) "advance" else if (input.rises) "rise" else "hold"),
      joinIdle = Option.when(input.follows)("follow"))

    def of(query: Query): Built = query match {
      case input: Input =>
        val rows = streams(input.number).toDF()
        val all = built(rows, $"_1", lit(1L), Seq(timestamp_seconds($"_2")))
        all.copy(df = withWatermark(all.df, s"t${all.name}_0", s"${input.delay} seconds", options(input, all.id)))
      case Without(input, rest) =>
        val in = of(input)
        // Not deterministic, so that it stays where it is: below a watermark it would be heard of fewer rows.
        val stays = udf((id: Int) => id % 3 != rest).asNondeterministic()
        in.copy(df = in.df.where(stays(in.id)))
      case Limited(input) =>
        val in = of(input)
        in.copy(df = in.df.limit(1000000))
      case Again(input, column, delay) =>
        val in = of(input)
        in.copy(df = in.df.withWatermark(s"t${in.name}_$column", s"$delay seconds"))
      case Union(left, right) =>
        val (l, r) = (of(left), of(right))
        l.copy(df = l.df.union(r.df))
      case Distinct(input, column) =>
        val in = of(input)
        val names = s"t${in.name}_$column" +: in.df.columns.toSeq.filterNot(_ == s"t${in.name}_$column")
        in.copy(df = in.df.dropDuplicates(names))
      case Once(input) =>
        val in = of(input)
        in.copy(df = in.df.dropDuplicatesWithinWatermark(s"id${in.name}"))
      case Groups(input, column, gap) =>
        val in = of(input)
        val rows = in.df.select(in.id.as("_1"), in.time(column).as("_2"), in.n.as("_3")).as[(Int, Timestamp, Long)]
        val counts = rows.groupByKey(_._1).flatMapGroupsWithState(
          OutputMode.Append,
          GroupStateTimeout.EventTimeTimeout())(counted(gap) _)
        built(counts.toDF("id", "time", "n"), col("id"), col("n"), Seq(col("time")))
      case sessions: Sessions =>
        val in = of(sessions.input)
        val gap = if (sessions.longer) in.id + sessions.gap else lit(sessions.gap)
        val by = session_window(in.time(sessions.column), concat(gap.cast("string"), lit(" seconds"))).as("w")
        val counts = in.df.groupBy(by, in.id.as("id")).agg(sum(in.n).as("n"))
        built(counts, col("id"), col("n"), Seq(window_time($"w")))
      case windows: Windows =>
        val in = of(windows.input)
        val by = window(in.time(windows.column), s"${windows.length} seconds").as("w")
        val others = windows.others.map(in.time)
        val ids = if (windows.byId) Seq(in.id) else Nil
        val counts = in.df.groupBy((by +: others) ++ ids: _*).agg(min(in.id).as("id"), sum(in.n).as("n"))
        built(counts, col("id"), col("n"), window_time($"w") +: others)
      case join: Join =>
        val (l, r) = (of(join.left), of(join.right))
        val (from, to) = (l.time(join.leftTime), r.time(join.rightTime))
        def seconds(n: Int) = expr(s"INTERVAL $n SECONDS")
        val near =
          if (join.isByKey) to === from else to >= from + seconds(join.least) && to <= from + seconds(join.most)
        val matches = l.id === r.id && near
        val both = l.df.join(r.df, matches, join.kind)
        if (join.kind == "left_semi") built(both, l.id, l.n, l.times)
        else
          built(
            both,
            coalesce(l.id, r.id),
            coalesce(l.n, lit(0L)) + coalesce(r.n, lit(0L)),
            l.times ++ r.times)
    }
  }
}

private object OracleComparison {

  /** Adds up the rows of an id, and gives out the sum when its timer fires. */
  def counted(gap: Int)(id: Int, rows: Iterator[(Int, Timestamp, Long)], state: GroupState[(Long, Long, Long)])
      : Iterator[(Int, Timestamp, Long)] =
    if (state.hasTimedOut) {
      val (n, _, timer) = state.get
      state.remove()
      Iterator((id, new Timestamp(timer), n))
    } else {
      val (n, last, _) = rows.foldLeft(state.getOption.getOrElse((0L, Long.MinValue, 0L))) {
        case ((n, last, _), (_, time, more)) => (n + more, math.max(last, time.getTime), 0L)
      }
      // It may not be set to where the watermark has been already.
      val timer = math.max(last + gap * 1000L, state.getCurrentWatermarkMs() + 1)
      state.update((n, last, timer))
      state.setTimeoutTimestamp(timer)
      Iterator.empty
    }

  /** A data frame, and the names of its columns. */
  final case class Built(df: DataFrame, name: Int, width: Int) {
    def id: Column = col(s"id$name")
    def n: Column = col(s"n$name")
    def time(at: Int): Column = col(s"t${name}_$at")
    def times: Seq[Column] = (0 until width).map(time)
  }
}
