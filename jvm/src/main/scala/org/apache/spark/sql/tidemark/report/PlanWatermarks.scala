package org.apache.spark.sql.tidemark.report

import io.tidemark.core.plan.Propagation
import io.tidemark.core.why.{PlanInput, Words}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.status.QueryView

/** The watermarks of a running query's operators, for Spark's own `explain`. */
object PlanWatermarks {

  /** @return a line for each input of an operator with state; empty for a plan of no running query */
  def of(plan: SparkPlan): String = {
    val runs = plan.collect { case writer: StateStoreWriter => writer.stateInfo.map(_.queryRunId) }.flatten.distinct
    runs.flatMap(RunningQueries.get).flatMap(_.latest).flatMap { case (planned, zone) =>
      lines(planned, new Words(zone))
    }.mkString("\n")
  }

  private def lines(query: QueryView.Planned, words: Words): Seq[String] = {
    val shape = query.snapshot.plan.shape
    val now = query.snapshot.levels
    val last = Propagation.levels(shape, query.snapshot.entry.decision)
    PlanInput.of(shape, query.snapshot.plan.columnNames).map { planInput =>
      def at(millis: Option[Long]) = millis.fold("undefined")(words.at)
      val evicting = now.inputs.get(planInput.input).flatMap(_.evicted)
      val evicted = evicting.map(_.watermark.millis)
      val evicts = planInput.waits.evicted match {
        case None => Some("keeps its state forever")
        // A function's own rows, or a limit's.
        case Some(Nil) => None
        case Some(_) => evicted.map(millis => s"evicts up to ${at(millis)}")
      }
      // Without a watermark, Spark's 0 stands for it.
      val due = for {
        next <- query.known.windows.get(planInput.input.operator).flatMap(_.nextMillis)
        if evicted.flatten.nonEmpty
      } yield s"next due at ${at(Some(next))}"
      val late =
        planInput.column.map(_ =>
          s"late up to ${at(last.inputs.get(planInput.input).flatMap(_.input.watermark.millis))}")
      val waits = planInput.waits.all.map(origin => words.name(origin.toString))
      val waiting = Option.when(waits.nonEmpty)(s"waits for ${waits.mkString(", ")}")
      val holder = evicting.flatMap(_.by).filter(_ => evicts.nonEmpty && waits.size > 1)
      val held = holder.map(origin => s"held back by ${words.name(origin.toString)}")
      val parts = late ++ evicts ++ due ++ waiting ++ held
      s"${(planInput.operator +: planInput.side.toSeq).mkString(" ")}: ${parts.mkString(", ")}"
    }
  }
}
