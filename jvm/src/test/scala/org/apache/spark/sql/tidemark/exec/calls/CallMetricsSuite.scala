package org.apache.spark.sql.tidemark.exec.calls

import io.tidemark.core.calls.CallStats

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, PythonUDF}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.ArrowEvalPythonExec
import org.apache.spark.sql.tidemark.columns.PythonCalls
import org.apache.spark.sql.tidemark.support.WatermarkTest
import org.apache.spark.sql.types._

/** What workers of Python say of their calls, without Python. */
class CallMetricsSuite extends WatermarkTest {
  import testImplicits._

  private val result = new StructType().add("value", IntegerType).add("tidemark_calls", StringType)

  private def python(child: SparkPlan, columns: (String, DataType)*): ArrowEvalPythonExec = {
    val (calls, results) = columns.map { case (column, of) =>
      val call = PythonUDF(column, null, of, Nil, PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF, udfDeterministic = false)
      (call, AttributeReference(column, of)())
    }.unzip
    ArrowEvalPythonExec(calls, results, child, PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF)
  }

  private def nodes(plan: SparkPlan): Seq[CallMetricsExec] = plan.collect { case node: CallMetricsExec => node }

  test("a node is above each column of calls, under a name of its own, once, and above no other function") {
    val rows = Seq(1).toDF("n").queryExecution.executedPlan
    val below =
      python(rows, PythonCalls.Prefix + "a" -> result, "stock" -> result, PythonCalls.KeyedPrefix + "b" -> result)
    val plan = CallMetricsExec.over(python(below, PythonCalls.Prefix + "a" -> result))
    assert(nodes(plan).map(_.name) === Seq("tidemark_calls_a2", "tidemark_calls_b", "tidemark_calls_a"))
    assert(nodes(CallMetricsExec.over(plan)).map(_.name) === nodes(plan).map(_.name))
    // Of Spark 4.0, and of another version of Tidemark.
    for (other <- Seq[DataType](ArrayType(IntegerType), IntegerType, new StructType().add("a", IntegerType)))
      assert(nodes(CallMetricsExec.over(python(rows, PythonCalls.Prefix + "a" -> other))).isEmpty)
  }

  test("what the rows carry is added up over batches of Arrow and tasks") {
    val partitions =
      Seq(Some("2 0 0 0 0 2\n0:2\n0.5\nn=1"), None, Some("3 1 1 1 1 3\n16:3\n4.0\nn=2"), None, Some("other"))
    val rows = partitions.toDF("said").repartition(3)
      .selectExpr("1 AS n", "IF(said = 'other', NULL, named_struct('value', 1, 'tidemark_calls', said)) AS result")
    for (adaptive <- Seq("true", "false")) withSQLConf("spark.sql.adaptive.enabled" -> adaptive) {
      val node = new CallMetricsExec("tidemark_calls_a", Nil, rows.queryExecution.executedPlan, "a", Some(1))
      assert(node.execute().count() === partitions.size)
      assert(node.stats === CallStats(5, 1, 1, 1, 1, 3, Map(0 -> 2L, 16 -> 3L), Some(CallStats.Slowest(4.0, "n=2"))))
      assert(CallMetricsExec.fields(node.stats).map(_._2) === Seq[Any](5, 1, 1, 1, 1, 3, 4.0, 4.0, 4.0, "n=2"))
    }
  }
}
