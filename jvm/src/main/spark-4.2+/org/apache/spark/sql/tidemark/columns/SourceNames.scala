package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.{HasStreamingSourceIdentifyingName, UserProvided}

/** The names of sources. */
private[columns] object SourceNames {

  /** The name that the user gave to a source. Spark finds its offsets by that name. */
  def of(source: LogicalPlan): Option[String] = source match {
    case named: HasStreamingSourceIdentifyingName =>
      named.sourceIdentifyingName match {
        case UserProvided(name) => Some(name)
        case _ => None
      }
    case _ => None
  }
}
