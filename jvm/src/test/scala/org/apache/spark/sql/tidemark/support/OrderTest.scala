package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.tidemark.OrderOptions

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.streaming.{GroupStateTimeout, OutputMode}

/** What a task above an order sees, row by row. */
object SeenRows {
  private val rows = mutable.ArrayBuffer.empty[(Int, Timestamp)]

  def add(row: (Int, Timestamp)): Unit = synchronized { rows += row; () }
  def clear(): Unit = synchronized(rows.clear())
  def all: Seq[(Int, Timestamp)] = synchronized(rows.toSeq)

  /** The times of each id, in the order in which its rows were seen. */
  def byId: Map[Int, Seq[Timestamp]] = all.groupMap(_._1)(_._2)
}

trait OrderTest extends WatermarkTest {
  import testImplicits._

  protected val byId = OrderOptions(by = Seq($"id"))

  /** The rows as they are, each of them noted when a task sees it. */
  protected def seen(df: DataFrame): DataFrame = {
    SeenRows.clear()
    df.as[(Int, Timestamp)].mapPartitions { rows =>
      rows.map { row =>
        SeenRows.add(row)
        row
      }
    }.toDF(df.columns.toSeq: _*)
  }

  protected def isSorted(times: Seq[Timestamp]): Boolean = times == times.sortBy(_.getTime)

  /** A function with state that notes each row of its groups when it sees it, and emits it. */
  protected def counted(df: DataFrame): DataFrame = {
    SeenRows.clear()
    df.select("id", "t").as[(Int, Timestamp)].groupByKey(_._1)
      .flatMapGroupsWithState[Int, (Int, Timestamp)](OutputMode.Append, GroupStateTimeout.NoTimeout()) {
        case (_, rows, _) =>
          rows.map { row =>
            SeenRows.add(row)
            row
          }
      }.toDF("id", "t")
  }

  /** What the report has under that name, at the topmost operator that has it. */
  protected def reported(query: StreamExecution, field: String): JsonNode = {
    def find(node: JsonNode): Option[JsonNode] =
      Option(node.get(field)).orElse(node.get("children").elements.asScala.map(find).flatten.nextOption())
    val json = spark.sql(s"SELECT tidemark_report('${query.id}')").head().getString(0)
    find(new ObjectMapper().readTree(json).get("plan")).getOrElse(fail(s"no $field in $json"))
  }

  /** What the plan of the last batch says of its operators' orders, the topmost one first. */
  protected def explained(query: StreamExecution): Seq[String] =
    query.lastExecution.executedPlan.toString.linesIterator.filter(_.contains(" Order ")).map(
      _.replaceAll("^.* Order ", "")).toSeq
}
