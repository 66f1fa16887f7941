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
      one: EventTimeWatermark,
      other: EventTimeWatermark,
      all: Seq[EventTimeWatermark]): Option[TidemarkException] = {
    val column = one.eventTime.name
    def twice(how: String) = Some(new TidemarkException(TidemarkError.KeyTwice(key, column, how)))
    def different = {
      val same = all.filter(node => EventTimeOptions.of(node).key.contains(key))
      Some(new TidemarkException(TidemarkError.DuplicateKey(key, same.map(_.eventTime.name))))
    }
    val differences = differencesOf(one, other)
    val words = s"with another ${differences.mkString(", ")}"
    if (column != other.eventTime.name) different
    else if (isAbove(one, other) || isAbove(other, one))
      twice(s"one above the other, ${if (differences.isEmpty) "with other steps between them" else words}")
    else if (!isSameInput(one, other)) different
    else if (differences.nonEmpty) twice(words)
    else None
  }

  private def isAbove(one: EventTimeWatermark, other: EventTimeWatermark): Boolean = one.child.exists {
    case below: EventTimeWatermark => below.nodeId == other.nodeId
    case _ => false
  }

  /** The keywords of what was not given alike. */
  private def differencesOf(one: EventTimeWatermark, other: EventTimeWatermark): Seq[String] = {
    val (left, right) = (EventTimeOptions.of(one), EventTimeOptions.of(other))
    Seq(
      "delay" -> (one.delay == other.delay),
      "split_by" -> (splitBy(one, left) == splitBy(other, right)),
      "expected" -> (left.expected == right.expected),
      "forget_after" -> (left.forgetAfterMillis == right.forgetAfterMillis),
      "idle_after" -> (left.idleAfterMillis == right.idleAfterMillis),
      "on_return" -> (left.onReturn == right.onReturn),
      "when_all" -> (left.whenIdle == right.whenIdle),
      "at_join" -> (left.followsInJoins == right.followsInJoins),
      "max_ahead" -> (left.maxAheadMillis == right.maxAheadMillis),
      "noted" -> (left.noted == right.noted)).collect { case (keyword, false) => keyword }
  }

  /** What the rows are split by. */
  private def splitBy(node: EventTimeWatermark, options: EventTimeOptions): Seq[Expression] = {
    val split = node.child.collectFirst { case split: SplitMarker if options.split.contains(split.id) => split }
    split.fold(Seq.empty[Expression])(found => onInput(found.keys, node.child))
  }

  /** Whether two nodes are above copies of one input: Spark Connect may analyze a DataFrame again at each use. */
  private def isSameInput(one: EventTimeWatermark, other: EventTimeWatermark): Boolean = {
    def below(node: EventTimeWatermark) = bare(node.child).transform { case source: StreamingRelationV2 =>
      LocalRelation(source.output, isStreaming = true)
    }
    def time(node: EventTimeWatermark) = onInput(Seq(node.eventTime), node.child)
    time(one) == time(other) && below(one).sameResult(below(other)) && sources(one).corresponds(sources(other))(isSame)
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
  private def isSame(one: StreamingRelationV2, other: StreamingRelationV2): Boolean = one.table == other.table ||
    one.sourceName != "memory" && one.sourceName == other.sourceName && one.extraOptions == other.extraOptions
}
