package org.apache.spark.sql.tidemark.columns

import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** Values that are equal for Spark are one split, whatever their bytes. */
class EqualSplitsSuite extends RefusalsTest {
  import testImplicits._

  /** The watermark is that of two splits if rows of different bytes belong to one, and 12:00 if they do not. */
  private def areTwo(key: String, first: (String, String), second: (String, String), names: Set[String]): Unit =
    for (mode <- Seq("CODEGEN_ONLY", "NO_CODEGEN")) withCode(mode) {
      val stream = MemoryStream[(String, Timestamp)]
      val df = stream.toDF().toDF("v", "t").selectExpr(s"$key AS k", "t")
      val marked = withWatermark(df, "t", "0 seconds", WatermarkOptions(key = Some("x"), splitBy = SplitBy($"k")))
      testStream(marked.select($"t"))(
        AddData(stream, first._1 -> at("12:00"), first._2 -> at("12:30")),
        ProcessAllAvailable(),
        AddData(stream, second._1 -> at("13:10"), second._2 -> at("13:20")),
        ProcessAllAvailable(),
        originsAre("x" -> Some(millis("13:10"))),
        report { all =>
          val splits = all.get("inputs").get(0).get("splits")
          assert(splits.get("total").asLong === 2)
          assert(splits.get("worst").findValuesAsText("name").asScala.toSet === names)
        })
    }

  test("texts of a collation that ignores case are one split, named in lower case") {
    areTwo("v COLLATE UTF8_LCASE", "Boiler" -> "mill", "BOILER" -> "MILL", Set("boiler", "mill"))
  }

  test("texts of a collation that ignores blanks at the end are one split") {
    areTwo("v COLLATE UTF8_BINARY_RTRIM", "a" -> "b", "a  " -> "b ", Set("a", "b"))
  }

  test("zero and minus zero are one split, and so are all numbers that are none") {
    areTwo("CAST(v AS DOUBLE)", "0.0" -> "NaN", "-0.0" -> "NaN", Set("0.0", "NaN"))
    areTwo("CAST(v AS FLOAT)", "-0.0" -> "1.5", "0.0" -> "1.5", Set("0.0", "1.5"))
  }

  test("equal values inside structs and arrays are one split") {
    areTwo(
      "named_struct('a', v COLLATE UTF8_LCASE, 'b', IF(v < 'a', 0D, -0D))",
      "Boiler" -> "mill",
      "boiler" -> "Mill",
      Set("""{"a":"boiler","b":0.0}""", """{"a":"mill","b":0.0}"""))
    areTwo("array(v COLLATE UTF8_LCASE)", "Boiler" -> "mill", "boiler" -> "Mill", Set("""["boiler"]""", """["mill"]"""))
  }

  /** The names of the expected splits, in the last of which a row is. */
  private def expected(df: DataFrame, names: String*) = withWatermark(
    df,
    "t",
    "0 seconds",
    WatermarkOptions(
      key = Some("x"),
      splitBy = SplitBy(Seq($"k"), names.map(name => Seq(Some(name)))),
      idle = Idle("1 hour"))).select($"t")

  private def expectedAre(key: String, names: Seq[String], first: String, second: String): Unit = {
    val stream = MemoryStream[(String, Timestamp)]
    val df = stream.toDF().toDF("v", "t").selectExpr(s"$key AS k", "t")
    testStream(expected(df, names: _*))(
      AddData(stream, first -> at("12:00"), second -> at("12:30")),
      ProcessAllAvailable(),
      originsAre("x" -> Some(millis("12:00"))))
  }

  test("an expected split is found by any text that is equal to it for Spark") {
    expectedAre("v COLLATE UTF8_LCASE", Seq("BOILER", "Mill"), "Boiler", "mill")
    expectedAre("v COLLATE UTF8_BINARY_RTRIM", Seq("a   ", "b"), "a", "b ")
    expectedAre("CAST(v AS DOUBLE)", Seq("-0.0", "1.0"), "0.0", "1")
  }

  private def table(types: String)(use: DataFrame => Unit): Unit = withTable("dev") {
    spark.sql(s"CREATE TABLE dev ($types, t TIMESTAMP) USING parquet")
    spark.sql("INSERT INTO dev VALUES ('a', TIMESTAMP'2024-03-01 12:00:00'), ('b', TIMESTAMP'2024-03-01 12:30:00')")
    use(spark.readStream.table("dev"))
  }

  test("an expected split of a CHAR column is found, with its blanks or without them") {
    for (names <- Seq(Seq("a", "b"), Seq("a  ", "b     "), Seq("a            ", "b")))
      table("k CHAR(6)")(dev =>
        testStream(expected(dev.select($"k", $"t"), names: _*))(
          ProcessAllAvailable(),
          originsAre("x" -> Some(millis("12:00")))))
    table("k VARCHAR(6)")(dev =>
      testStream(expected(dev, "a", "b"))(ProcessAllAvailable(), originsAre("x" -> Some(millis("12:00")))))
  }

  test("an expected split that is too long for a CHAR or VARCHAR column is refused") {
    for (kind <- Seq("char(6)", "varchar(6)"))
      table(s"k $kind") { dev =>
        assertRefused("INVALID_SPLITS", "value" -> "too long", "dataType" -> kind)(expected(dev, "a", "too long"))
      }
    withTable("nested") {
      spark.sql("CREATE TABLE nested (s STRUCT<k: CHAR(3)>, t TIMESTAMP) USING parquet")
      val by = SplitBy(Seq($"s.k"), Seq(Seq(Some("abcd"))))
      assertRefused("INVALID_SPLITS", "value" -> "abcd", "dataType" -> "char(3)") {
        withWatermark(spark.readStream.table("nested"), "t", "0 seconds", WatermarkOptions(splitBy = by))
      }
    }
  }

  test("a collation whose equality belongs to a version of ICU is refused, also inside a struct") {
    val df = MemoryStream[(String, Timestamp)].toDF().toDF("v", "t")
    for ((key, collation) <- Seq(
        "v COLLATE UNICODE_CI" -> "UNICODE_CI",
        "named_struct('a', v COLLATE UNICODE)" -> "UNICODE",
        "array(v COLLATE DE)" -> "de"))
      assertRefused("INVALID_SPLITS", "column" -> "t", "collation" -> collation) {
        expected(df.selectExpr(s"$key AS k", "t"))
      }
  }
}
