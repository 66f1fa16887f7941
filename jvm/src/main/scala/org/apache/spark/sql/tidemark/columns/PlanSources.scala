package org.apache.spark.sql.tidemark.columns

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Locale

import scala.jdk.CollectionConverters._

import io.tidemark.core.memory.OriginSources

import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

/** What the watermarks of a plan read. */
private[columns] object PlanSources {

  def of(node: EventTimeWatermark): OriginSources = {
    val sources = node.child.collect { case source @ (_: StreamingRelation | _: StreamingRelationV2) => source }
    val names = sources.flatMap(SourceNames.of)
    val areNames = sources.nonEmpty && names.size == sources.size
    OriginSources((if (areNames) names else sources.map(look)).sorted, areNames)
  }

  /** Options may have passwords, so the checkpoint gets a digest. */
  private def look(source: LogicalPlan): String = {
    val (what, options) = source match {
      case of: StreamingRelation =>
        val table = of.dataSource.catalogTable.map(_.identifier.unquotedString)
        (Seq(of.dataSource.className) ++ table ++ of.dataSource.paths, of.dataSource.options)
      case of: StreamingRelationV2 =>
        val table = of.identifier.map(id => (id.namespace :+ id.name).mkString("."))
        (Seq(of.sourceName) ++ of.catalog.map(_.name) ++ table, of.extraOptions.asCaseSensitiveMap.asScala.toMap)
      case _ => (Nil, Map.empty[String, String])
    }
    val details = options.toSeq.map { case (name, value) => s"${name.toLowerCase(Locale.ROOT)}=$value" }.sorted
    val digest = MessageDigest.getInstance("SHA-256").digest((what ++ details).mkString("\u0000").getBytes(UTF_8))
    digest.take(8).map(byte => f"$byte%02x").mkString
  }
}
