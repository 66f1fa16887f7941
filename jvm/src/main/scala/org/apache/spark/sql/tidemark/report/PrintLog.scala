package org.apache.spark.sql.tidemark.report

import java.io.{FileDescriptor, FileOutputStream, PrintStream, StringWriter}
import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.TimeZone

import io.tidemark.TidemarkException

import org.apache.spark.SparkConf
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JacksonGenerator, JSONOptions}
import org.apache.spark.util.SerializableConfiguration

/** Prints the last batches of a query's log. `python -m tidemark log` runs it with `spark-submit`: without a session it needs a
  * few seconds, and Spark's settings for file systems apply.
  *
  * Each line of it is in UTF-8 and has a mark in front, whatever else is printed: [[Row]] a row of [[LogTable]] as JSON, and
  * [[Failure]] an error as JSON, with which it ends.
  */
object PrintLog {
  private[report] val Row = "tidemark-row "
  private[report] val Failure = "tidemark-error "

  /** @param arguments the location of the checkpoint, escaped as in a URL, and how many batches */
  def main(arguments: Array[String]): Unit = {
    val Array(location, batches) = arguments: @unchecked
    val settings = new SparkConf()
    val zone = settings.get("spark.sql.session.timeZone", TimeZone.getDefault.getID)
    val conf = SparkHadoopUtil.get.newConfiguration(settings)
    val out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8)
    try {
      val rows = LogTable.last(URLDecoder.decode(location, UTF_8), new SerializableConfiguration(conf), batches.toInt)
      lines(rows, zone).foreach(line => out.println(Row + line))
    } catch {
      case e: TidemarkException =>
        out.println(Failure + Json.text(Json.obj("message" -> e.getMessage)))
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
