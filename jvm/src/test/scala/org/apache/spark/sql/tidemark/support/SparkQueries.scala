package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import scala.collection.mutable

import io.tidemark.{Idle, OrderOptions, SplitBy, WatermarkOptions}
import io.tidemark.functions.{inOrder, withWatermark}
import io.tidemark.oracle.{Carrier, Query}
import io.tidemark.oracle.Query._

import org.apache.spark.sql.{classic, Column, DataFrame, Dataset}
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}
import org.apache.spark.sql.types.{MetadataBuilder, TimestampType}

/** A query of the oracle's as one of Spark's, on streams in memory. */
private[tidemark] final class SparkQueries(session: classic.SparkSession, query: Query) {
  import SparkQueries._
  import session.implicits._

  private implicit val context: classic.SQLContext = session.sqlContext

  private val inputs = query.nodes.collect { case input: Input => input }
  private val streams = inputs.filterNot(_.leftover).map(_.number -> MemoryStream[(Int, Int)]).toMap
  private val leftovers = inputs.filter(_.leftover).map(_.number -> MemoryStream[(Int, Timestamp)]).toMap
  private var fresh = Iterator.from(0)
  private val columns = mutable.Map.empty[Int, String]

  /** @param rows ids and times, in seconds */
  def add(input: Int, rows: Seq[(Int, Int)]): Unit = {
    streams.get(input).foreach(_.addData(rows))
    leftovers.get(input).foreach(_.addData(rows.map { case (id, time) => id -> new Timestamp(time * 1000L) }))
  }

  /** The event-time column of an input in `texts`. */
  def columnOf(input: Input): String = columns(input.number)

  def mode: OutputMode = query match {
    case counts: Windows if counts.updates => OutputMode.Update
    case _ => OutputMode.Append
  }

  /** Rows of the query as [[io.tidemark.oracle.Row]] writes them. */
  def texts: classic.Dataset[_] = {
    // After a restart the names are the same.
    fresh = Iterator.from(0)
    val built = of(query)
    val times = built.times.map(time => coalesce(unix_micros(time).cast("string"), lit("-")))
    built.df.select(concat(built.id.cast("string"), lit("@"), concat_ws(",", times: _*), lit("x"), built.n))
      .asInstanceOf[classic.Dataset[_]]
  }

  private def built(df: DataFrame, id: Column, n: Column, times: Seq[Column]): Built = {
    val name = fresh.next()
    val named = times.zipWithIndex.map { case (time, at) => time.as(s"t${name}_$at") }
    Built(df.select(Seq(id.as(s"id$name"), n.as(s"n$name")) ++ named: _*), name, times.size)
  }

  private def options(input: Input, id: Column) = WatermarkOptions(
    splitBy = input.splits.fold(SplitBy()) { expected =>
      SplitBy(Seq(id), expected.toSeq.map(split => Seq(Some(split.toString))))
    },
    idle = Idle(
      after = input.idleAfter.map(seconds => s"$seconds seconds"),
      onReturn = Option.when(input.catchesUp)("catch_up"),
      whenAll =
        if (input.advances) Some("advance") else if (input.rises) Some("rise") else None,
      atJoin = Option.when(input.follows)("follow")))

  private def of(query: Query): Built = query match {
    case input: Input if input.leftover =>
      val rows = leftovers(input.number).toDF()
      val plan = rows.asInstanceOf[classic.Dataset[_]].queryExecution.logical.transform {
        case source: StreamingRelationV2 =>
          source.copy(output = source.output.map { column =>
            // Never null, as in other inputs. Up to Spark 4.2 a union has the nullability of those inputs that have rows in a
            // batch, and then a restart refuses the state of an operator above it.
            val mark = new MetadataBuilder().putLong(EventTimeWatermark.delayKey, 0L).build()
            if (column.dataType == TimestampType) column.withMetadata(mark).withNullability(false) else column
          })
      }
      // Not deterministic, so that its column stays below a semi join. Spark moves it above one only in batches where the input
      // has rows, and then a restart refuses the state of the join, in stock Spark too.
      val constant = udf(() => 1L).asNondeterministic()
      built(classic.Dataset.ofRows(session, plan), $"_1", constant(), Seq($"_2"))
    case Through(input, carrier) =>
      val in = of(input)
      val (id, n, times) = (s"id${in.name}", s"n${in.name}", in.timeNames)
      val rows = if (carrier == Carrier.CalledByKey && !isById(input)) in.df.repartition(in.id) else in.df
      val carried = new SparkCarriers(session, s"carried${fresh.next()}")(carrier, rows)
      built(carried, col(id), col(n), times.map(col))
    case self: SelfJoin => readTwice(self, of(self.input))
    case input: Input =>
      val rows = streams(input.number).toDF()
      val all = built(rows, $"_1", lit(1L), Seq(timestamp_seconds($"_2")))
      columns(input.number) = all.timeNames.head
      all.copy(df = withWatermark(all.df, s"t${all.name}_0", s"${input.delay} seconds", options(input, all.id)))
    case Without(input, rest) =>
      val in = of(input)
      // Not deterministic, so that it stays where it is: below a watermark it would be called for fewer rows.
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
    case Running(input, column, delay) =>
      val counts = timed(of(input), column).groupByKey(_._1).flatMapGroupsWithState(
        OutputMode.Append,
        GroupStateTimeout.NoTimeout())(soFar _)
      val all = built(counts.toDF("id", "time", "n"), col("id"), col("n"), Seq(col("time")))
      all.copy(df = all.df.withWatermark(all.timeNames.head, s"$delay seconds"))
    case Ordered(input, column, by, ties) =>
      val in = of(input)
      def columns(values: Vector[Value]) = values.map {
        case Value.Id => in.id
        case Value.Count => in.n
        case Value.Time(at) => in.time(at)
      }
      val order = OrderOptions(by = columns(by), thenBy = columns(ties))
      in.copy(df = inOrder(in.df, s"t${in.name}_$column", order))
    case Groups(input, column, gap) =>
      val counts = timed(of(input), column).groupByKey(_._1).flatMapGroupsWithState(
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

  /** Whether the rows of an id are in one task. */
  private def isById(query: Query): Boolean = query match {
    case Ordered(_, _, by, _) => by.forall(_ == Value.Id)
    case _ => false
  }

  private def timed(in: Built, column: Int): Dataset[(Int, Timestamp, Long)] =
    in.df.select(in.id.as("_1"), in.time(column).as("_2"), in.n.as("_3")).as[(Int, Timestamp, Long)]

  /** In SQL: a table that is not deterministic is not written out where it is used. */
  private def readTwice(self: SelfJoin, in: Built): Built = {
    val view = s"twice${fresh.next()}"
    in.df.createOrReplaceTempView(view)
    val (id, n) = (s"id${in.name}", s"n${in.name}")
    val (from, to) = (s"l.${in.timeNames(self.leftTime)}", s"r.${in.timeNames(self.rightTime)}")
    val near =
      if (self.join.isByKey) s"$to = $from"
      else s"$to >= $from + INTERVAL ${self.least} SECONDS AND $to <= $from + INTERVAL ${self.most} SECONDS"
    def side(of: String) = in.timeNames.map(time => s"$of.$time AS ${of}_$time")
    val isSemi = self.kind == "left_semi"
    val columns =
      if (isSemi) Seq(s"l.$id AS id", s"l.$n AS n") ++ side("l")
      else Seq(s"coalesce(l.$id, r.$id) AS id", s"coalesce(l.$n, 0L) + coalesce(r.$n, 0L) AS n") ++ side("l") ++
        side("r")
    val both = session.sql(
      s"WITH e AS (SELECT *, rand() AS chance FROM $view) SELECT ${columns.mkString(", ")} " +
        s"FROM e l ${self.kind.replace('_', ' ')} JOIN e r ON l.$id = r.$id AND $near")
    built(both, col("id"), col("n"), both.columns.toSeq.drop(2).map(col))
  }
}

private object SparkQueries {

  /** Adds up the rows of an id, and gives out the sum so far with the largest time of this batch. */
  def soFar(
      id: Int,
      rows: Iterator[(Int, Timestamp, Long)],
      state: GroupState[Long]): Iterator[(Int, Timestamp, Long)] = {
    val all = rows.toVector
    state.update(state.getOption.getOrElse(0L) + all.map(_._3).sum)
    Iterator((id, all.map(_._2).max[Timestamp](_.compareTo(_)), state.get))
  }

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
    def timeNames: Seq[String] = (0 until width).map(at => s"t${name}_$at")
    def times: Seq[Column] = (0 until width).map(time)
  }
}
