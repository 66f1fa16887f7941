package org.apache.spark.sql.tidemark.functions

import java.util.concurrent.ConcurrentLinkedQueue

import scala.concurrent.Future
import scala.jdk.CollectionConverters._

import io.tidemark.{AsyncOptions, OrderOptions}
import io.tidemark.functions.{inOrder, mapAsync}

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.expressions.{Alias, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.columns.PythonCalls
import org.apache.spark.sql.tidemark.support.AsyncCalls
import org.apache.spark.sql.tidemark.support.OrderTest
import org.apache.spark.sql.types._

/** Calls with a key need all rows of the key in one task, and are refused where that is not asked for. */
class KeyedCallsSuite extends OrderTest {
  import testImplicits._

  private def rows: DataFrame = spark.range(0, 100, 1, 4).selectExpr("id AS n", "id % 5 AS device", "'x' AS more")

  private def inScala(df: DataFrame, key: Column): DataFrame =
    mapAsync(df, "called", Seq(key), LongType, AsyncOptions(key = Some(key)))(_ => Future.successful(1L))

  /** What `tidemark.map_async` adds in Python. */
  private def inPython(df: DataFrame, key: Column): DataFrame =
    python(df, key, PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF)

  /** The same on Spark 4.0, where the key is sent as text. */
  private def inPython40(df: DataFrame, key: Column): DataFrame =
    python(df, key.cast("string"), PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF)

  private def python(df: DataFrame, key: Column, kind: Int): DataFrame = {
    val session = spark.asInstanceOf[ClassicSession]
    val child = df.select(col("*"), key.as("given")).asInstanceOf[Dataset[_]].logicalPlan.asInstanceOf[Project]
    val inputs = Seq(child.projectList.last.asInstanceOf[Alias].child)
    val call = PythonUDF(PythonCalls.KeyedPrefix + "called", null, LongType, inputs, kind, udfDeterministic = false)
    Dataset.ofRows(session, Project(child.projectList.init :+ Alias(call, "called")(), child.child))
  }

  private def assertSpread(body: => Any): Unit = assertRefused("ASYNC_KEY_SPREAD", "column" -> "called")(body)

  for ((where, called) <- Seq[(String, (DataFrame, Column) => DataFrame)](
      ("Scala", inScala(_, _)),
      ("Python", inPython(_, _)),
      ("Python on Spark 4.0", inPython40(_, _)))) {

    test(s"$where: a key whose rows may be in several tasks is refused") {
      assertRefused("ASYNC_KEY_SPREAD", "column" -> "called", "key" -> "device")(called(rows, $"device"))
      for (spread <- Seq(
          rows.repartition(4),
          rows.repartition($"more"),
          rows.repartition($"device", $"more"),
          rows.repartition($"device").coalesce(3),
          rows.repartition($"device").repartition(3),
          rows.repartition($"device").orderBy($"n"),
          rows.repartition($"device").union(rows),
          rows.repartition($"n").withColumn("device", $"n" % 3),
          rows.repartition($"device").drop("device").withColumnRenamed("more", "device")))
        assertSpread(called(spread, $"device"))
      assertSpread(called(rows.repartition($"device"), ($"device" % 2).as("even")))
    }

    test(s"$where: rows that are put together by the key, or by less, are called") {
      for (together <- Seq(
          rows.repartition($"device"),
          rows.repartition(7, $"device"),
          rows.repartitionByRange($"device"),
          rows.repartition(1),
          rows.coalesce(1),
          rows.repartition(1, $"more"),
          inOrder(rows, "n", OrderOptions(by = Seq($"device"))),
          rows.repartition($"device").where("n > 3").select($"device", $"n".as("m")).sample(0.5),
          rows.withColumnRenamed("device", "d").repartition($"d").withColumnRenamed("d", "device"),
          rows.repartition($"device").as("r").select("r.*").withColumn("one", explode(array(lit(1), lit(2)))),
          rows.repartition($"device").sortWithinPartitions("n")))
        called(together, $"device")
      called(rows.repartition($"device" % 2), $"device" % 2)
    }

    test(s"$where: rows of a stream that are put together are called, and others refused") {
      val stream = MemoryStream[(Int, String, java.sql.Timestamp)]
      val df = stream.toDF().toDF("device", "more", "time").withWatermark("time", "1 minute")
      def ordered(by: Column*): DataFrame = inOrder(df, "time", OrderOptions(by = by))
      called(ordered($"device"), $"device")
      called(ordered(), $"device")
      called(ordered($"device" % 3), $"device" % 3)
      called(df.repartition($"device").withWatermark("time", "2 minutes"), $"device")
      for (spread <- Seq(df, ordered($"more"), ordered($"device", $"more"))) assertSpread(called(spread, $"device"))
    }
  }

  test("the parts of a struct that is the key may be what puts its rows together") {
    val key = struct($"device", $"more")
    inScala(rows.repartition($"device"), key)
    inScala(rows.repartition($"more", $"device"), key)
    inScala(rows.repartition(key), key)
    assertSpread(inScala(rows.repartition($"n"), key))
  }

  test("in foreachBatch, the rows of a batch are together as the query has put them") {
    def run(by: String): Set[Int] = {
      val stream = MemoryStream[(Int, String, java.sql.Timestamp)]
      val df = stream.toDF().toDF("device", "more", "time").withWatermark("time", "0 seconds")
      val results = new ConcurrentLinkedQueue[Int]
      val each = (batch: DataFrame, _: Long) => {
        inScala(batch, $"device").collect().foreach(row => results.add(row.getInt(0)))
      }
      val query = inOrder(df, "time", OrderOptions(by = Seq(col(by)))).writeStream.foreachBatch(each).start()
      try {
        stream.addData((1, "x", at("10:00")), (2, "x", at("10:01")), (3, "x", at("11:00")))
        query.processAllAvailable()
      } finally query.stop()
      results.asScala.toSet
    }
    assert(run("device") === Set(1, 2, 3))
    assertQueryRefused("ASYNC_KEY_SPREAD", "column" -> "called")(run("more"))
  }

  test("a task has all rows of its keys, whatever Spark makes of small shuffles") {
    for (adaptive <- Seq("true", "false")) withSQLConf("spark.sql.adaptive.enabled" -> adaptive) {
      val called = inScala(rows.repartition($"device"), $"device").withColumn("task", spark_partition_id())
      val tasks = called.groupBy("device").agg(count_distinct($"task")).as[(Long, Long)].collect()
      assert(tasks.toMap === (0L until 5L).map(_ -> 1L).toMap)
    }
  }

  private val equalKeys = Seq(
    "doubles" -> Seq("0.0D", "-0.0D"),
    "texts of a collation" -> Seq("'a' COLLATE UTF8_LCASE", "'A' COLLATE UTF8_LCASE"),
    "structs" -> Seq("struct(0.0D AS x, 1 AS y)", "struct(-0.0D AS x, 1 AS y)"))

  for ((what, keys) <- equalKeys) {
    test(s"at most one call is in flight of $what that are equal for Spark") {
      AsyncCalls.reset(together = 1)
      val all =
        keys.map(key => spark.range(20).selectExpr("id AS n", s"$key AS k")).reduce(_.union(_)).repartition($"k")
      val rows = mapAsync(all, "called", Seq($"n"), LongType, AsyncOptions(key = Some($"k"), ordered = false)) { row =>
        AsyncCalls.together(row.getLong(0))
      }
      assert(rows.count() === 40)
      rows.collect()
      assert(AsyncCalls.most.get === 1)
    }

    test(s"Python gets one key of $what that are equal for Spark") {
      val all = keys.map(key => spark.range(2).selectExpr("id AS n", s"$key AS k")).reduce(_.union(_)).repartition($"k")
      // On Spark 4.0 a struct cannot be sent.
      val ways = Seq(inPython(_, _)) ++ Option.when(what != "structs")(inPython40(_, _))
      for (python <- ways) {
        val found = python(all, $"k").queryExecution.optimizedPlan.collect { case node =>
          node.expressions.flatMap(_.collect { case call: PythonUDF => call.children.last }).map(_ ->
            node.children.head)
        }.flatten
        assert(found.size === 1)
        val (key, child) = found.head
        val keysSent = Dataset.ofRows(spark.asInstanceOf[ClassicSession], Project(Seq(Alias(key, "key")()), child))
        assert(keysSent.collect().map(_.get(0).toString).toSet.size === 1)
      }
    }
  }
}
