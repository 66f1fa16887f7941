package org.apache.spark.sql.tidemark.report

import io.tidemark.core.OriginName
import io.tidemark.core.plan.Propagation
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.core.why.{PlanInput, Words}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.status.{QueryView, Reason, SplitsBehind}

/** Why nothing comes out of a running query, and the watermarks of its operators, for Spark's own `explain`. */
object PlanWatermarks {

  /** @return the sentence of the report, and a line for each input of an operator with state; empty for a plan of no running
    *   query
    */
  def of(plan: SparkPlan): String = {
    val runs = plan.collect { case writer: StateStoreWriter => writer.stateInfo.map(_.queryRunId) }.flatten.distinct
    runs.flatMap(RunningQueries.get).flatMap { query =>
      // Spark describes the plan of each batch on the query's own thread. That must not cost a scan of the splits.
      query.ownView.map(lines(_, scansSplits = false)).orElse(Some(lines(query.view, scansSplits = true)))
    }.flatten.mkString("\n")
  }

  private def lines(view: QueryView, scansSplits: Boolean): Seq[String] = {
    val words = new Words(view.zone)
    val why = view.state match {
      case planned: QueryView.Planned if !scansSplits => planned.reason
      case _ => Some(Reason.of(view, System.currentTimeMillis()))
    }
    val inputs = view.state match {
      case planned: QueryView.Planned => new Lines(planned, words, scansSplits).all
      case _ => Nil
    }
    why.map(_.message(words)).toSeq ++ inputs
  }

  private final class Lines(query: QueryView.Planned, words: Words, scansSplits: Boolean) {
    private val snapshot = query.snapshot
    private val shape = snapshot.plan.shape
    private val now = snapshot.levels
    private val last = Propagation.levels(shape, snapshot.entry.decision)
    private val splits =
      if (scansSplits) query.origins.all.flatMap(input => split(input).map(input.name -> _)).toMap
      else Map.empty[OriginName, String]

    def all: Seq[String] = PlanInput.of(shape, snapshot.plan.columnNames).map(line)

    private def line(of: PlanInput): String = {
      val evicting = now.inputs.get(of.input).flatMap(_.evicted)
      val reached = evicting.flatMap(_.watermark.millis)
      val evicts = of.waits.evicted match {
        case None => Some("keeps its state forever")
        // A function's own rows, or a limit's.
        case Some(Nil) => None
        case Some(_) =>
          evicting.map(_ => reached.fold("evicts nothing yet: no watermark")(at => s"evicts up to ${words.at(at)}"))
      }
      // Without a watermark, Spark's 0 stands for it.
      val due = for {
        next <- query.known.windows.get(of.input.operator).flatMap(_.dueMillis)
        if reached.nonEmpty
      } yield s"next due at ${words.at(next)}"
      val judging = last.inputs.get(of.input).flatMap(_.input.watermark.millis)
      val late =
        of.column.map(_ => judging.fold("no row is late yet")(at => s"late up to ${words.at(math.max(at, 0L))}"))
      val waits = if (of.waits.evicted.isEmpty) Nil else of.waits.all
      val waiting = Option.when(waits.nonEmpty)(s"waits for ${waits.map(name).mkString(", ")}")
      val held = evicting.flatMap(_.by).filter(_ => evicts.nonEmpty).flatMap { origin =>
        splits.get(origin).orElse(Option.when(waits.size > 1)(name(origin)))
      }
      val parts = late ++ evicts ++ due ++ waiting ++ held.map(by => s"held back by $by")
      s"${(of.operator +: of.side.toSeq).mkString(" ")}: ${parts.mkString(", ")}"
    }

    /** The split or writer of an input that is behind the others, if one is. */
    private def split(input: PlanOrigin): Option[String] = {
      val kind =
        if (input.rules.noted.nonEmpty) Some("writer") else Option.when(input.rules.splitBy.nonEmpty)("split")
      kind.flatMap { kind =>
        val of = snapshot.splits(input)
        val behind = new SplitsBehind(input, of, snapshot.decision.origin(input.name)).waitedFor.headOption
        val holds = behind.filter(at => of.size > 1 && of.clock(at).forall(clock => of.largest.exists(_ > clock)))
        holds.map(at => s"$kind ${words.name(SplitNameTable.show(of.name(at)))} of ${name(input.name)}")
      }
    }

    private def name(origin: OriginName): String = words.name(origin.toString)
  }
}
