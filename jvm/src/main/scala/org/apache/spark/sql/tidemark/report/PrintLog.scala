package org.apache.spark.sql.tidemark.report

import java.io.StringWriter
import java.util.TimeZone

import io.tidemark.TidemarkException

import org.apache.spark.SparkConf
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JacksonGenerator, JSONOptions}
import org.apache.spark.util.SerializableConfiguration

/** Prints the last batches of a query's log, a row of [[LogTable]] as JSON on each line. `python -m tidemark log` runs it with
  * `spark-submit`: without a session it needs a few seconds, and Spark's settings for file systems apply.
  */
object PrintLog {

  /** @param arguments the location of the checkpoint, and how many batches */
  def main(arguments: Array[String]): Unit = {
    val Array(location, batches) = arguments: @unchecked
    val settings = new SparkConf()
    val zone = settings.get("spark.sql.session.timeZone", TimeZone.getDefault.getID)
    val conf = SparkHadoopUtil.get.newConfiguration(settings)
    try lines(LogTable.last(location, new SerializableConfiguration(conf), batches.toInt), zone).foreach(println)
    catch {
      case e: TidemarkException =>
        System.err.println(e.getMessage)
        System.exit(1)
    }
  }

  /** As `toJSON` of a DataFrame writes them. */
  private[report] def lines(rows: Iterator[InternalRow], zone: String): Iterator[String] = rows.map { row =>
    val text = new StringWriter
    val json = new JacksonGenerator(LogTable.schema, text, new JSONOptions(Map.empty[String, String], zone))
    json.write(row)
    json.close()
    text.toString
  }
}
