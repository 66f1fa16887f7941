package org.apache.spark.sql.tidemark

import java.util.UUID

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.OriginName

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}

/** The origins of a query, in plan order. A node id lives as long as a run; the name is what a restart knows.
  *
  * @param computed columns that the user computes, so that they are no event time, though the optimizer may find that
  *   they are equal to a column that is
  * @param notes what a user should know of the plan, though it runs
  */
private[tidemark] final case class Origins(all: Seq[Origins.One], computed: Set[ExprId], notes: Seq[TidemarkError]) {
  private val byNode = all.map(one => one.nodeId -> one.name).toMap

  def names: Seq[OriginName] = all.map(_.name)
  def name(nodeId: UUID): OriginName = byNode(nodeId)

  /** The keys that the user has named. */
  def named: Seq[String] = all.filter(_.isNamed).map(_.name.key)
}

private[tidemark] object Origins {

  /** @param isNamed whether the user gave the key (else it is the column's name) */
  final case class One(nodeId: UUID, name: OriginName, column: String, delayMillis: Long, isNamed: Boolean)

  /** @throws TidemarkException when the user has named one key on different columns */
  def of(plan: LogicalPlan): Origins = {
    // One origin used twice (a self-join) is one origin with one clock.
    val nodes = plan.collect { case origin: EventTimeWatermark => origin }.distinctBy(_.nodeId)
    val named = nodes.map(node => keyOf(node.eventTime))
    named.zip(nodes).collect { case (Some(key), node) => key -> node.eventTime.name }.groupMap(_._1)(_._2).foreach {
      case (key, columns) =>
        if (columns.distinct.size > 1) throw new TidemarkException(TidemarkError.duplicateKey(key, columns.distinct))
    }
    val names = OriginName.number(nodes.zip(named).map { case (node, key) => key.getOrElse(node.eventTime.name) })
    val all = nodes.lazyZip(names).lazyZip(named).map { (node, name, key) =>
      One(node.nodeId, name, node.eventTime.name, EventTimeWatermark.getDelayMs(node.delay), key.nonEmpty)
    }
    Origins(all, computedIn(plan), UnionInputs.leftOut(plan))
  }

  private def computedIn(plan: LogicalPlan): Set[ExprId] =
    plan
      .collect { case project: Project => project.projectList }
      .flatten
      .collect { case a @ Alias(by, _) if !by.isInstanceOf[Attribute] && !EventTimeColumns.isMarked(a) => a.exprId }
      .toSet

  private def keyOf(column: Attribute): Option[String] =
    if (column.metadata.contains(EventTimeColumns.KeyMetadata))
      Some(column.metadata.getString(EventTimeColumns.KeyMetadata))
    else None
}
