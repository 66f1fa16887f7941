package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import io.tidemark.{NotedTimeErrors, TidemarkError, TidemarkException}
import io.tidemark.core.{Input, OriginName}
import io.tidemark.core.memory.{OriginRules, OriginSources}
import io.tidemark.core.plan.PlanShape

import org.apache.hadoop.fs.Path

import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation
import org.apache.spark.sql.internal.SQLConf

/** The origins of a query, in plan order. A node's id lives as long as a run; the name is stable across restarts.
  *
  * @param computed columns that the user computed; they are not event time, even if the optimizer finds that they equal
  *   a column that is
  * @param takesTimesOut whether the plan takes times out of values again ([[TrackedColumns.takesTimesOut]])
  * @param hints what the user should know about the plan, although it runs
  * @param exchanged origins that may have changed places since the last run, and that nothing tells apart; by key
  */
private[tidemark] final case class OriginsOfPlan(
    all: Seq[PlanOrigin],
    computed: Set[ExprId],
    takesTimesOut: Boolean,
    hints: Seq[TidemarkError],
    exchanged: Seq[Set[OriginName]]) {
  private val byNode = all.map(planOrigin => planOrigin.nodeId -> planOrigin.name).toMap

  val rules: Map[OriginName, OriginRules] = all.map(planOrigin => planOrigin.name -> planOrigin.rules).toMap

  def names: Seq[OriginName] = all.map(_.name)
  def name(nodeId: UUID): OriginName = byNode(nodeId)
  def isNoted(nodeId: UUID): Boolean = rules(name(nodeId)).noted.nonEmpty

  /** The inputs of operators to which no late rows should come, because writers have noted their times, each with the
    * origins of its watermark. If a union has made one column of noted and guessed times, its late rows prove nothing.
    */
  def promisedIn(shape: PlanShape): Map[Input, Seq[OriginName]] = {
    val noted = all.filter(_.rules.noted.nonEmpty).map(_.name).toSet
    if (noted.isEmpty) Map.empty
    else
      (for {
        operator <- PlanShape.postOrder(shape)
        input <- PlanShape.inputsOf(operator)
        judges = PlanShape.judgedByAll(operator, input.side)
        if judges.nonEmpty && judges.forall(noted)
      } yield input -> judges).toMap
  }
}

private[tidemark] object OriginsOfPlan {

  /** @param known the origins in the checkpoint; they are read if a key alone does not find them
    * @throws TidemarkException if one key names different columns or inputs
    */
  def of(plan: LogicalPlan, conf: SQLConf, known: => OriginSources.Known = Map.empty): OriginsOfPlan = {
    // A self-join uses one origin twice; it has one clock.
    val nodes = plan.collect { case origin: EventTimeWatermark => origin }.distinctBy(_.nodeId)
    val asked = nodes.map(EventTimeOptions.of(_))
    RepeatedKeys.requireOneInput(nodes)
    val splits = plan.collect { case split: SplitMarker => split.id -> split }.toMap
    val keys = nodes.zip(asked).map { case (node, options) => options.key.getOrElse(node.eventTime.name) }
    val sources = nodes.map(PlanSources.of)
    val needsSources = keys.zip(sources).map { case (key, of) => of.areNames || keys.count(_ == key) > 1 }
    val before: OriginSources.Known = if (needsSources.contains(true)) known else Map.empty
    val names = OriginSources.names(keys.zip(sources), before)
    val exchanged = OriginSources.exchanged(names.zip(sources).toMap, before)
    nodes.filter(EventTimeOptions.of(_).noted.nonEmpty).foreach(requireComparable)
    requireReadable(names.lazyZip(asked).lazyZip(nodes).toSeq)
    val kept = sources.zip(needsSources).map { case (of, isNeeded) => Option.when(isNeeded)(of) }
    val all = nodes.lazyZip(names).lazyZip(asked).lazyZip(kept).map { (node, name, options, sources) =>
      val split = options.split.flatMap(splits.get)
      val log = options.noted.map(MarkLogPath.of(_, node))
      val rules = options.rules(EventTimeWatermark.getDelayMs(node.delay), split.toSeq.flatMap(_.by), log, conf)
      PlanOrigin(
        node.nodeId,
        split.fold(node.nodeId)(_.id),
        name,
        node.eventTime.name,
        node.eventTime.metadata,
        rules.copy(sources = sources),
        options.needsTidemark(node.eventTime.name))
    }
    requireDelays(plan, all)
    val computed = computedIn(plan)
    val moved = exchanged.map { same =>
      TidemarkError.InputsChangedPlaces(
        same.head.key,
        all.filter(planOrigin => same(planOrigin.name)).map(_.name.toString))
    }
    OriginsOfPlan(
      all,
      computed,
      TrackedColumns.takesTimesOut(plan, computed),
      UnionChecks.leftOut(plan) ++ moved,
      exchanged)
  }

  /** `dropDuplicatesWithinWatermark` remembers rows for the delay. Marks need none, so the user may have given none. */
  private def requireDelays(plan: LogicalPlan, origins: Seq[PlanOrigin]): Unit = {
    val withoutDelay =
      origins.filter(planOrigin => planOrigin.rules.noted.nonEmpty && planOrigin.rules.delayMillis == 0)
    for {
      below <- plan.collect { case duplicates: DeduplicateWithinWatermark => duplicates.child }
      origin <- below.collect { case origin: EventTimeWatermark => origin }
      planOrigin <- withoutDelay.find(_.nodeId == origin.nodeId)
    } throw new TidemarkException(NotedTimeErrors.NotedNeedsDelay(planOrigin.column))
  }

  /** Marks say what has been read by what comes before them, and name files below one folder. */
  private def requireComparable(node: EventTimeWatermark): Unit = node.child.foreach {
    case files: StreamingRelation =>
      def refuse(why: String) =
        throw new TidemarkException(NotedTimeErrors.NotedSourceUnknown(node.eventTime.name, why))
      if (isSet(files.dataSource.options, "latestFirst"))
        refuse("its source reads the newest files first (latestFirst), and what writers note begins with the oldest")
      patternOf(files).foreach { path =>
        refuse(s"its path '$path' has wildcards, and marks name files below the one folder that is read")
      }
    case _ => ()
  }

  /** The path of a source of files, if it is a pattern of names. */
  private def patternOf(files: StreamingRelation): Option[String] =
    files.dataSource.options.collectFirst { case (key, path) if key.equalsIgnoreCase("path") => path }
      .filter(path => SparkHadoopUtil.get.isGlobPath(new Path(path)))
      .filter(_ => classOf[FileFormat].isAssignableFrom(files.dataSource.providingClass))

  private def isSet(options: Map[String, String], name: String): Boolean =
    options.exists { case (key, value) => key.equalsIgnoreCase(name) && value.trim.equalsIgnoreCase("true") }

  /** A key must not look like the generated name of another origin, in reports and in the log. */
  private def requireReadable(named: Seq[(OriginName, EventTimeOptions, EventTimeWatermark)]): Unit =
    named.groupBy(_._1.toString).values.foreach { same =>
      for {
        key <- same.flatMap(_._2.key).headOption if same.size > 1
        other <- same.find(!_._2.key.contains(key))
      } throw new TidemarkException(TidemarkError.KeyReadsAsAnother(key, other._3.eventTime.name))
    }

  private def computedIn(plan: LogicalPlan): Set[ExprId] =
    plan
      .collect { case project: Project => project.projectList }
      .flatten
      .collect { case a @ Alias(by, _) if !by.isInstanceOf[Attribute] && !EventTimeMarks.isMarked(a) => a.exprId }
      .toSet
}
