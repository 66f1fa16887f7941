package org.apache.spark.sql.tidemark.check

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import io.tidemark.{OrderErrors, TidemarkException}
import io.tidemark.TidemarkConf.OrderKept

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.tidemark.exec.order.HoldExec

/** Whether the checkpoint of a query fits its `spark.tidemark.order`, which decides what operators with state it has.
  *
  * Spark refuses operators that are not those of the checkpoint, but knows nothing of the setting.
  */
private[tidemark] final class OrderSetting(setting: OrderKept, checkpoint: Path, hadoop: => Configuration) {

  /** @param asked how many orders the user asked for
    * @param added how many the setting `event_time` adds
    * @throws TidemarkException if the checkpoint has the orders of another setting
    */
  def requireSame(asked: Int, added: Int): Unit = {
    val isAdding = setting == OrderKept.EventTime
    val (now, otherwise) = if (isAdding) (asked + added, asked) else (asked, asked + added)
    if (now != otherwise && ordersInCheckpoint.contains(otherwise))
      throw new TidemarkException(OrderErrors.OrderSettingChanged(setting.name, now, otherwise))
  }

  /** `None` if the query has no state yet. */
  private def ordersInCheckpoint: Option[Int] = {
    val files = CheckpointFileManager.create(checkpoint, hadoop)
    val state = new Path(checkpoint, "state")
    if (!files.exists(state)) None
    else {
      val operators = files.list(state).toSeq.filter(_.isDirectory).map(_.getPath)
      Option.when(operators.nonEmpty) {
        operators.map(new Path(_, "_metadata/metadata")).filter(files.exists).count { file =>
          val text = Using.resource(files.open(file))(in => new String(in.readAllBytes(), UTF_8))
          nameIn(text) == HoldExec.Name
        }
      }
    }
  }

  /** The operator's name in a file of Spark's: a line with the version, and JSON. */
  private def nameIn(text: String): String =
    new ObjectMapper().readTree(text.dropWhile(_ != '{')).path("operatorInfo").path("operatorName").asText
}
