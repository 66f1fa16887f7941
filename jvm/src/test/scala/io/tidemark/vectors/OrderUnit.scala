package io.tidemark.vectors

import scala.util.Random

import io.tidemark.core.ColumnId
import io.tidemark.core.plan.{Order, OrderFlow, OrderStep}
import io.tidemark.core.plan.OrderStep._
import io.tidemark.core.support.OrderSimulation

/** Pipelines that keep the order in which a source's tasks have read their rows, as `spark.tidemark.order=keep` follows it.
  *
  * The file says in words what each transform is and what reads its rows. A transform becomes the steps that Spark has for
  * it. Two things must hold: the order is known where the rows are read, and no run of the plan contradicts it.
  */
object OrderUnit {

  def run(vector: Vector): Seq[Mismatch] = {
    val (transform, merged) = (vector.optional("transform"), vector.optional("case"))
    val plans = merged.map(_.asText).fold(transform.toSeq.flatMap(steps => ofTransform(steps.asText, vector)))(ofCase)
    vector.requireNothingElse()
    plans.flatMap { case (what, plan) => check(s"${vector.id} $what", plan) }
  }

  /** A tree of steps. */
  private final case class Plan(step: OrderStep, below: Seq[Plan]) {
    def through(steps: Seq[OrderStep]): Plan = steps.foldLeft(this)((below, step) => Plan(step, Seq(below)))
  }

  private val same = OrderSimulation.Columns.map(column => column -> column).toMap
  private val generator: Set[ColumnId] = Set(OrderSimulation.Columns.head)
  private val toOneTask = Shuffle("to one task", Some(Set.empty))
  private val byGenerator = Shuffle("by generator", Some(generator))
  private def keeps(label: String) = Keeps(label, same)
  private def generators(id: Int) =
    Plan(Source("generators", id, Some(generator), "they run side by side", cut = None), Nil)

  /** How many tasks run a transform is Spark's own affair: those of the source. */
  private def ofTransform(text: String, vector: Vector): Seq[(String, Plan)] = {
    val steps = text.split(" then ").toSeq.map(_.stripSuffix("-high").stripSuffix("-low")).map {
      case "map-stateful-global" => toOneTask
      case each @ ("map" | "map-using-replicated-map" | "map-using-imap" | "custom-transform" | "filter" | "flat-map") =>
        keeps(each)
      case other => throw new Unknown(s"transform '$other'")
    }
    vector.list("sources").map(_.asText).map { source =>
      val plan = generators(0).through(steps)
      val read = source match {
        case "one non-partitioned generator: sink == 0..249" => plan
        case "4 parallel generators: stateful validator sees no item <= previous of same generator" =>
          plan.through(Seq(byGenerator))
        case "4 parallel generators, 4 filtered sinks: each equals its own sequence" =>
          plan.through(Seq(keeps("filter of a sink")))
        case other => throw new Unknown(s"source '$other'")
      }
      source.takeWhile(_ != ':') -> read
    }
  }

  private def ofCase(text: String): Seq[(String, Plan)] = {
    val plan = text match {
      case "merge of two 2-generator sources (parallelism 11 and 2): each of 4 sequences intact" =>
        Plan(Union("merge", Seq(same, same)), Seq(generators(0), generators(1))).through(Seq(byGenerator))
      // A table's rows are sent to each task, which looks them up.
      case "hash join with 2 batch sides" | "inner hash join with 2 batch sides" =>
        generators(0).through(Seq(keeps("first table"), keeps("second table")))
      case other => throw new Unknown(s"case '$other'")
    }
    Seq("" -> plan)
  }

  private def check(where: String, plan: Plan): Option[Mismatch] = {
    def below(plan: Plan): Order = OrderFlow.after(plan.step, plan.below.map(below))
    val claim = OrderFlow.at(generator, below(plan)).order
    claim match {
      case _: Order.Arrival =>
        (0 until 50).flatMap { seed =>
          val simulation = new OrderSimulation(new Random(seed))
          def rows(plan: Plan): Seq[OrderSimulation.Parts] = simulation.run(plan.step, plan.below.map(rows))
          simulation.contradiction(claim, rows(plan)).map(Mismatch(s"$where seed $seed", "rows as they were read", _))
        }.headOption
      case other => Some(Mismatch(where, "rows as they were read", other.toString))
    }
  }
}
