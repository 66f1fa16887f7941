package org.apache.spark.sql.tidemark.comparison

import io.tidemark.MoreSuite

import org.apache.spark.sql.execution.streaming.state.{HDFSBackedStateStoreProvider, RocksDBStateStoreProvider}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.{JoinAgainstOracle, JoinOracle}

/** A join does the same whatever keeps its state, and in whichever format. */
class StateStoresSuite extends JoinAgainstOracle with MoreSuite {
  import testImplicits._

  private val hdfs = classOf[HDFSBackedStateStoreProvider]
  private val rocksDb = classOf[RocksDBStateStoreProvider]

  for ((provider, format) <- Seq(hdfs -> 2, rocksDb -> 2, rocksDb -> 3, rocksDb -> 4)) {
    val conf = Seq(
      SQLConf.STATE_STORE_PROVIDER_CLASS.key -> provider.getName,
      SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION.key -> format.toString)
    val where = s"${provider.getSimpleName}, state format $format"

    asTheOracleSays(s"a time range, $where", "full_outer", JoinOracle.range(-10, 5), conf: _*)(
      expr("id = id2 AND t2 >= t - INTERVAL 10 MINUTES AND t2 <= t + INTERVAL 5 MINUTES"))

    asTheOracleSays(s"equal windows, $where", "full_outer", JoinOracle.window(10), conf: _*)(
      $"id" === $"id2" && $"w" === $"w2")
  }
}
