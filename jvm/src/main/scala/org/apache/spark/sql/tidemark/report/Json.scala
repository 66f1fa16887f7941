package org.apache.spark.sql.tidemark.report

import java.util.LinkedHashMap

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.{JsonFactoryBuilder, StreamWriteConstraints}
import com.fasterxml.jackson.databind.ObjectMapper

/** Builds JSON from plain data. */
private[tidemark] object Json {

  // Each operator of a plan is nested in the one that reads it.
  private val MostNested = 10000
  private val mapper = {
    val limits = StreamWriteConstraints.builder.maxNestingDepth(MostNested).build
    new ObjectMapper((new JsonFactoryBuilder).streamWriteConstraints(limits).build)
  }

  def list(all: Seq[AnyRef]): AnyRef = all.asJava

  /** An object whose fields keep their order. */
  def obj(fields: (String, Any)*): AnyRef = {
    val map = new LinkedHashMap[String, Any]
    fields.foreach { case (key, value) => map.put(key, value) }
    map
  }

  def text(value: AnyRef): String = mapper.writeValueAsString(value)
}
