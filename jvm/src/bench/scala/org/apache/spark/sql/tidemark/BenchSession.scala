package org.apache.spark.sql.tidemark

import io.tidemark.TidemarkExtension

import org.apache.spark.sql.SparkSession

/** A session with Tidemark and one task at a time, for programs that measure whole queries. */
private object BenchSession {

  /** Runs a program in it, and stops it. */
  def run(settings: (String, String)*)(program: SparkSession => Unit): Unit = {
    val builder = SparkSession
      .builder()
      .master("local[1]")
      .config("spark.sql.extensions", classOf[TidemarkExtension].getName)
      .config("spark.ui.enabled", "false")
    val spark = settings.foldLeft(builder) { case (all, (key, value)) => all.config(key, value) }.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try program(spark)
    finally spark.stop()
  }
}
