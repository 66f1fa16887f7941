package org.apache.spark.sql.tidemark.optimizer

import java.util.UUID

import scala.util.Try

import io.tidemark.TidemarkConf
import io.tidemark.core.plan.PlanShape
import io.tidemark.oracle.{Carrier, Query, RandomCase, Shrink}
import io.tidemark.oracle.Query.Input

import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, WatermarkPropagator}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, OriginsOfPlan}
import org.apache.spark.sql.tidemark.planning.PlanShapeBuilder
import org.apache.spark.sql.tidemark.support.{FuzzNumber, OracleComparison, SparkQueries}

/** For every plan: the column that an operator of stock Spark takes for event time is the one by which it goes here, or
  * [[SameEventTimeSuite.differences]] says why not. Plans are drawn as those of [[FuzzSuite]] are, and not run.
  */
class SameEventTimeSuite extends OracleComparison {
  import SameEventTimeSuite._

  private val seed = FuzzNumber("seed", 1)
  private val shrinks = FuzzNumber("shrink", 60)

  // `make fuzz` sets the number of plans.
  private val fuzzing = sys.props.contains("tidemark.fuzz.plans")

  compared(seed, FuzzNumber("plans", 10))
  if (!fuzzing) moreTests(compared(seed + 10, 90))

  private def compared(seed: Int, plans: Int): Unit =
    test(s"operators of $plans plans from seed $seed use the same event-time columns as in stock Spark") {
      same(seed, plans)
    }

  private def same(seed: Int, plans: Int): Unit = {
    val taken = (seed until seed + plans).flatMap { from =>
      val example = RandomCase.carried(from.toLong)
      val found = different(example.query)
      found.foreach { what =>
        val smallest = Shrink(example.copy(steps = Nil), shrinks)(smaller => different(smaller.query).nonEmpty).query
        println(s"seed $from: $what\nthe smallest like it: $smallest\n${different(smallest).getOrElse("")}")
      }
      found.map(from -> _)
    }
    val _ = assert(taken.map(_._1) === Nil)
  }

  /** What is different and is not listed, if anything. */
  private def different(drawn: Query): Option[String] = {
    val query = plain(drawn)
    Try {
      val (ofSpark, ours) = (stock(there(query)), takenByTidemark(query))
      if (ofSpark.size != ours.size) Some(s"$ofSpark\n  $ours")
      else
        ofSpark.zip(ours).collectFirst {
          case (there, own) if there != own && !differences.exists(_.is(query, there, own)) =>
            s"$query\n  stock: $there\n  here: $own"
        }
    }.recover { case e: Exception => Some(s"$query\n  failed: $e") }.get
  }

  /** Without what is told to watermarks: that moves no mark. */
  private def plain(query: Query): Query = query match {
    case input: Input => Input(input.number, input.delay, leftover = input.leftover)
    case other => Query.onInputs(other, other.inputs.map(plain))
  }

  private def there(query: Query): Seq[Taken] = {
    val texts = new SparkQueries(classicSession, query).texts
    // Without the last preparations, in which Spark refuses several columns.
    operators(planned(classicSession, texts).sparkPlan).map { case (name, side, input) =>
      Taken(name, side, input.output.filter(EventTimeMarks.isMarked).distinctBy(_.exprId).map(_.name).toSet)
    }
  }

  /** By what the operator sees, and by what its watermark is computed from, which have to be the same. */
  private def takenByTidemark(query: Query): Seq[Taken] = {
    val texts = new SparkQueries(classicSession, query).texts
    val origins = OriginsOfPlan.of(texts.queryExecution.analyzed, classicSession.sessionState.conf)
    val own = classicSession.cloneSession()
    own.experimental.extraOptimizations = Seq(new InsertOperatorInputs(() => Some(origins)))
    val plan = planned(own, texts).executedPlan
    val translated = new PlanShapeBuilder(origins, TidemarkConf.UnboundedJoinPolicy.Spark).build(plan)
    val goesBy = PlanShape.postOrder(translated.shape).collect {
      case stateful: PlanShape.Stateful => Seq(stateful.active)
      case join: PlanShape.Join => Seq(join.left.active, join.right.active)
    }.flatten.map(_.map(column => translated.columnNames(column)).toSet)
    val seen = operators(plan)
    assert(seen.size === goesBy.size)
    seen.zip(goesBy).map { case ((name, side, input), columns) =>
      val marked = input.output.filter(EventTimeMarks.isMarked).distinctBy(_.exprId).map(_.name).toSet
      assert(name == "globalLimit" || marked === columns, s"marks of $name $side, and its event time")
      Taken(name, side, marked)
    }
  }

  private def planned(of: classic.SparkSession, texts: classic.Dataset[_]): IncrementalExecution =
    // As `explain` plans a streaming query.
    new IncrementalExecution(
      of,
      texts.queryExecution.logical,
      OutputMode.Append(),
      "<unknown>",
      UUID.randomUUID,
      UUID.randomUUID,
      0,
      None,
      OffsetSeqMetadata(0, 0),
      WatermarkPropagator.noop(),
      false)

  /** The stateful operators with what flows into them, inputs before those that read them. */
  private def operators(plan: SparkPlan): Seq[(String, String, SparkPlan)] = {
    val below = plan.children.flatMap(operators)
    plan match {
      case join: StreamingSymmetricHashJoinExec =>
        below ++ Seq((join.shortName, "left", join.left), (join.shortName, "right", join.right))
      case writer: StateStoreWriter => below :+ ((writer.shortName, "", writer.children.head))
      case _ => below
    }
  }
}

private object SameEventTimeSuite {

  /** @param columns those of an operator's input that bear the mark; stock Spark refuses more than one while it runs */
  final case class Taken(operator: String, side: String, columns: Set[String])

  /** @param why as a user would read it, and @param is whether it is the reason for what an operator has there and here */
  final case class Difference(why: String, is: (Query, Taken, Taken) => Boolean)

  val differences: Seq[Difference] = Seq(
    Difference(
      "of several event-time columns stock Spark refuses to take one; here it is the one that the operator names",
      (_, there, takenByTidemark) =>
        there.columns.size > 1 && takenByTidemark.columns.size == 1 && takenByTidemark.columns.subsetOf(there.columns)),
    Difference(
      "a watermark on one of several columns makes the others plain ones in stock Spark; here they stay event time",
      (query, there, takenByTidemark) =>
        // A limit uses no event time, so all of them reach it.
        (takenByTidemark.columns.size == 1 ||
          takenByTidemark.operator == "globalLimit" && there.columns.subsetOf(takenByTidemark.columns)) &&
          query.nodes.exists(Carrier.isLastOfSeveral)))
}
