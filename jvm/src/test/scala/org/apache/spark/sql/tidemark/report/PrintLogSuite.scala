package org.apache.spark.sql.tidemark.report

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.ReasonTest
import org.apache.spark.util.SerializableConfiguration

/** What the command line reads of a log. */
class PrintLogSuite extends ReasonTest {
  test("the last batches are printed as the table has them, and no earlier one") {
    val (stream, df) = timed("time", "0 seconds")
    withTempDir { checkpoint =>
      val query =
        counted(df, "time").writeStream.format("noop").option("checkpointLocation", checkpoint.getPath).start()
      for (minute <- Seq("10:05", "10:15", "10:25")) {
        stream.addData((1, at(minute)))
        query.processAllAvailable()
      }
      query.stop()
      val conf = new SerializableConfiguration(spark.sessionState.newHadoopConf())
      val zone = spark.conf.get(SQLConf.SESSION_LOCAL_TIMEZONE.key)
      def printed(batches: Int) = PrintLog.lines(LogTable.last(checkpoint.getPath, conf, batches), zone).toSeq
      val table = spark.sql(s"SELECT * FROM tidemark_log('${checkpoint.getPath}')").orderBy("batch").toJSON.collect()
      assert(table.length > 3)
      assert(printed(2) === table.takeRight(2).toSeq)
      assert(printed(100) === table.toSeq)
    }
  }
}
