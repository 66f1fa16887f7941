package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.tidemark.support.{OracleComparison, PythonMaps}
import org.apache.spark.sql.types.{Metadata, StructType}

/** A join where one side lost its event time in a Python map, whose declared schema has no mark. */
class LostEventTimeSuite extends OracleComparison {
  import testImplicits._

  private def unmarked(df: DataFrame): DataFrame =
    PythonMaps.pandas(df, StructType(df.schema.map(_.copy(metadata = Metadata.empty))))

  private def comesOut(): Unit = {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    val both = unmarked(a).join(b, $"a" === $"b" && $"ta" === $"tb")
    testStream(both.select($"a", $"b"))(
      MultiAddData(left, 9 -> at("10:00"))(right, 1 -> at("10:05")),
      ProcessAllAvailable(),
      AddData(right, 2 -> at("10:30")),
      ProcessAllAvailable(),
      AddData(right, 2 -> at("10:31")),
      ProcessAllAvailable(),
      AddData(left, 1 -> at("10:05")),
      CheckAnswer((1, 1)))
    ()
  }

  test("regression: a join keeps its rows in state for a side without event time, as in stock Spark") {
    stock(comesOut())
    comesOut()
  }
}
