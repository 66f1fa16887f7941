package org.apache.spark.sql.tidemark.columns

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, BoundReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2

/** Watermarks that have one key: they must be the same watermark of one input, as where a DataFrame is used twice. */
private[columns] object RepeatedKeys {

  /** @throws TidemarkException if one key names different columns, inputs, or watermarks of one input */
  def requireOneInput(nodes: Seq[EventTimeWatermark]): Unit =
    nodes.flatMap(node => EventTimeOptions.of(node).key.map(_ -> node)).groupMap(_._1)(_._2).foreach {
      case (key, first +: others) => others.flatMap(refusal(key, first, _, nodes)).headOption.foreach(throw _)
      case _ => ()
    }

  private def refusal(
      key: String,
      first: EventTimeWatermark,
      second: EventTimeWatermark,
      all: Seq[EventTimeWatermark]): Option[TidemarkException] = {
    val column = first.eventTime.name
    def twice(how: String) = Some(new TidemarkException(TidemarkError.KeyTwice(key, column, how)))
    def different = {
      val same = all.filter(node => EventTimeOptions.of(node).key.contains(key))
      Some(new TidemarkException(TidemarkError.DuplicateKey(key, same.map(_.eventTime.name))))
    }
    val differences = differencesOf(first, second)
    val words = s"with another ${differences.mkString(", ")}"
    if (column != second.eventTime.name) different
    else if (isAbove(first, second) || isAbove(second, first))
      twice(s"one above the other, ${if (differences.isEmpty) "with other steps between them" else words}")
    else if (!isSameInput(first, second)) different
    else if (differences.nonEmpty) twice(words)
    else None
  }

  private def isAbove(upper: EventTimeWatermark, lower: EventTimeWatermark): Boolean = upper.child.exists {
    case below: EventTimeWatermark => below.nodeId == lower.nodeId
    case _ => false
  }

  /** The keywords of what was not given alike. */
  private def differencesOf(first: EventTimeWatermark, second: EventTimeWatermark): Seq[String] = {
    val (options, others) = (EventTimeOptions.of(first), EventTimeOptions.of(second))
    Seq(
      "delay" -> (first.delay == second.delay),
      "split_by" -> (splitBy(first, options) == splitBy(second, others)),
      "expected" -> (options.expected == others.expected),
      "forget_after" -> (options.forgetAfterMillis == others.forgetAfterMillis),
      "idle_after" -> (options.idleAfterMillis == others.idleAfterMillis),
      "on_return" -> (options.onReturn == others.onReturn),
      "when_all" -> (options.whenIdle == others.whenIdle),
      "at_join" -> (options.followsInJoins == others.followsInJoins),
      "max_ahead" -> (options.maxAheadMillis == others.maxAheadMillis),
      "noted" -> (options.noted == others.noted)).collect { case (keyword, false) => keyword }
  }

  /** What the rows are split by. */
  private def splitBy(node: EventTimeWatermark, options: EventTimeOptions): Seq[Expression] = {
    val split = node.child.collectFirst { case split: SplitMarker if options.split.contains(split.id) => split }
    split.fold(Seq.empty[Expression])(found => onInput(found.keys, node.child))
  }

  /** Whether two nodes are above copies of one input: Spark Connect may analyze a DataFrame again at each use. */
  private def isSameInput(first: EventTimeWatermark, second: EventTimeWatermark): Boolean = {
    def below(node: EventTimeWatermark) = bare(node.child).transform { case source: StreamingRelationV2 =>
      LocalRelation(source.output, isStreaming = true)
    }
    def time(node: EventTimeWatermark) = onInput(Seq(node.eventTime), node.child)
    time(first) == time(second) && below(first).sameResult(below(second)) &&
    sources(first).corresponds(sources(second))(isSame)
  }

  /** The input below what only adds columns, as a watermark does for its options and its splits. */
  private def bare(plan: LogicalPlan): LogicalPlan = plan match {
    case split: SplitMarker => bare(split.child)
    case project: Project if onlyAdds(project) => bare(project.child)
    case other => other
  }

  private def onlyAdds(project: Project): Boolean = project.child.output
    .filterNot(_.name.startsWith(SplitMarker.HiddenPrefix))
    .forall(a => project.projectList.exists(_.exprId == a.exprId))

  /** Expressions in terms of the columns of the bare input, by position: the ids of a copy are others. */
  private def onInput(expressions: Seq[Expression], plan: LogicalPlan): Seq[Expression] = plan match {
    case split: SplitMarker => onInput(expressions, split.child)
    case project: Project if onlyAdds(project) =>
      val computed = AttributeMap(project.projectList.collect { case alias: Alias => alias.toAttribute -> alias.child })
      val below = expressions.map(_.transform { case column: Attribute => computed.getOrElse(column, column) })
      onInput(below, project.child)
    case input =>
      expressions.map { expression =>
        expression.transform { case column: Attribute =>
          BoundReference(input.output.indexWhere(_.exprId == column.exprId), column.dataType, nullable = true)
        }.canonicalized
      }
  }

  private def sources(node: EventTimeWatermark): Seq[StreamingRelationV2] =
    node.child.collect { case source: StreamingRelationV2 => source }

  /** Kafka creates a new table object at each analysis, so only its options tell whether two tables are the same.
    * Memory streams have no options.
    */
  private def isSame(first: StreamingRelationV2, second: StreamingRelationV2): Boolean = first.table == second.table ||
    first.sourceName != "memory" && first.sourceName == second.sourceName && first.extraOptions == second.extraOptions
}
