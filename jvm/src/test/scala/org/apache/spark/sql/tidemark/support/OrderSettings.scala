package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import scala.util.Random

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD

/** Queries with a setting of `spark.tidemark.order`. Sorts spill after a few rows. */
trait OrderSettings extends OrderTest {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD, 20)

  protected val Lanes = 3

  protected def withOrder(order: String)(body: => Unit): Unit = withSQLConf("spark.tidemark.order" -> order)(body)

  /** Rows that are read by three tasks in turn, each later than the one before. */
  protected val inTurn: Seq[(Int, Timestamp)] = {
    val random = new Random(3)
    (0 until 600).map(n => random.nextInt(4) -> new Timestamp(millis("10:00") + n * 1000L))
  }
}
