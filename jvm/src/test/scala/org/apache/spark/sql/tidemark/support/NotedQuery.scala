package org.apache.spark.sql.tidemark.support

import java.nio.file.Path

import io.tidemark.core.{ColumnId, OriginName}
import io.tidemark.core.memory._
import io.tidemark.core.noted.{NotedWriters, SourcePosition, WriterState}
import io.tidemark.core.plan.{PlanShape, Propagation}

import org.apache.spark.sql.tidemark.noted.MarkLogReader

/** A query of one input whose clocks are noted by writers, without Spark: from the files of a mark log to the watermark, as
  * the engine computes it batch by batch.
  *
  * @param nowMillis the present
  */
final class NotedQuery(folder: Path, reader: TimeWindows.Reader, nowMillis: () => Long) {
  private val name = OriginName("rows", 0)
  private val shape = PlanShape.Origin("withWatermark", name, ColumnId(1), PlanShape.Source("rows"))
  private val rules = Map(name -> OriginRules(
    delayMillis = 0L,
    splitBy = Seq("writer"),
    expected = reader.expected.map(OriginState.split),
    idleAfterMillis = reader.idleAfterMillis,
    maxAheadMillis = reader.maxAheadMillis,
    noted = Some(NotedBy(folder.toString, reader.onlyExpected))))
  private val log = new MarkLogReader(MarkLines.folder(folder), clockMillis = nowMillis)
  private var entry = WatermarkEntry.initial(Seq(name), -1L, 0L, 0L)

  private def states = entry.origins.get(name).fold(Map.empty[String, WriterState])(_.writers)

  /** A batch that reads up to a position.
    * @param hasRows whether it has rows
    * @return the watermark of a batch that follows immediately
    */
  def batch(read: SourcePosition, hasRows: Boolean): Option[Long] = {
    val now = nowMillis()
    val begun = BatchStart(now, if (hasRows) Map(name -> Unread.Somewhere) else Map.empty)
    val decision = entry.decide(begun, rules)
    val passed = for { (writer, state) <- states; place <- state.passed } yield writer -> place
    val histories = log.read(passed, reader.isWanted).histories
    def latest(millis: Long) = reader.maxAheadMillis.map(millis + _)
    val writers = NotedWriters(histories, states, read, latest(now), latest(entry.timestampMillis))
    val seen = Observation.OriginObservation.noted(writers, 0L, latestMillis = None)
    entry = Observation.observe(
      entry,
      Observation.BatchEnd(entry.batch + 1, begun, now),
      decision,
      Propagation.levels(shape, decision),
      Observation(Map(name -> seen), Map.empty),
      rules)
    entry.decide(BatchStart.at(now), rules).origin(name).millis
  }
}
