package org.apache.spark.sql.tidemark.sources

import java.io.File
import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.TwoStreams

/** Watermarks of one name, after a restart with their inputs in another order. */
class SourcesInAnotherOrderSuite extends TwoStreams {

  /** A folder of files. Its time column has the same name as that of every other one. */
  private final class Folder(parent: File, name: String) {
    private val folder = Files.createDirectory(parent.toPath.resolve(name))
    private var files = 0

    def put(clocks: String*): Unit = {
      files += 1
      val rows = clocks.map(clock => s"""{"k": "$name", "t": "2024-03-01 $clock:00"}""")
      Files.writeString(folder.resolve(s"$files.json"), rows.mkString("\n"))
      ()
    }

    def rows(isNamed: Boolean): DataFrame = {
      val reader = spark.readStream.schema("k STRING, t TIMESTAMP")
      (if (isNamed) reader.name(name) else reader).json(folder.toString)
    }

    def read(isNamed: Boolean): DataFrame = rows(isNamed).withWatermark("t", "0 seconds")
  }

  private val evolving = Seq(
    "spark.sql.streaming.queryEvolution.enableSourceEvolution" -> "true",
    "spark.sql.streaming.offsetLog.formatVersion" -> "2")

  /** A union of the inputs in the first order, and later of those in the second one. */
  private def restarted(isNamed: Boolean, tidemark: Boolean)(first: String*)(second: String*)(
      later: Map[String, Folder] => Seq[Step])(check: Recorder => Unit): Unit = withTempDir { parent =>
    val folders = (first ++ second).distinct.map(name => name -> new Folder(parent, name)).toMap
    def query(order: Seq[String]) = order.map(folders(_).read(isNamed)).reduce(_ union _)
      .groupBy(window(col("t"), "1 hour").as("w"), col("k")).count()
      .select(col("k"), date_format(col("w.start"), "HH:mm").as("start"), col("count"))
    val settings = if (isNamed) evolving else Nil
    withSQLConf(settings :+ ("spark.tidemark.enabled" -> tidemark.toString): _*) {
      val recorder = new Recorder("append", new File(parent, "checkpoint"))
      recorder.run(query(first))(() => { folders("fast").put("12:00"); folders("slow").put("10:00") })
      recorder.run(query(second))(later(folders): _*)
      check(recorder)
    }
  }

  private def slowIsLate(folders: Map[String, Folder]): Seq[Step] = Seq(
    () => folders("fast").put("12:10"),
    () => folders("slow").put("10:30"),
    () => folders("slow").put("12:30"))

  private val all = Seq("[slow,10:00,2]")

  test("sources with names have their watermarks in any order, and no row is lost") {
    restarted(isNamed = true, tidemark = true)("fast", "slow")("slow", "fast")(slowIsLate) { run =>
      assert(rows(run.batches) === all)
      assert(hours(run) === Map("t" -> "12:10", "t#1" -> "12:30"))
    }
  }

  testMore("stock Spark emits the same of sources with names in another order") {
    restarted(isNamed = true, tidemark = false)("fast", "slow")("slow", "fast")(slowIsLate)(run =>
      assert(rows(run.batches) === all))
  }

  testMore("a source with a new name begins at the lowest watermark of the others") {
    def more(folders: Map[String, Folder]): Seq[Step] =
      Seq(() => folders("third").put("10:15"), () => folders.values.foreach(_.put("12:30")))
    restarted(isNamed = true, tidemark = true)("fast", "slow")("slow", "third", "fast")(more) { run =>
      assert(rows(run.batches) === Seq("[slow,10:00,1]", "[third,10:00,1]"))
      assert(hours(run) === Map("t" -> "12:30", "t#1" -> "12:30", "t#2" -> "12:30"))
    }
  }

  test("sources without names that have changed places continue from the lowest watermark of theirs") {
    restarted(isNamed = false, tidemark = true)("fast", "slow")("slow", "fast")(_ => Nil) { run =>
      assert(hours(run) === Map("t" -> "10:00", "t#1" -> "12:00"))
    }
    restarted(isNamed = false, tidemark = true)("fast", "slow")("slow", "fast")(folders =>
      Seq(() => folders("slow").put("10:30"))) { run =>
      // Stock Spark finds offsets by their places, so both sources are read from the beginning.
      assert(rows(run.batches) === Nil)
      assert(late(run) === 0)
      assert(hours(run) === Map("t" -> "10:30", "t#1" -> "12:00"))
    }
  }

  test("sources in the same order continue where they were") {
    for (isNamed <- Seq(true, false))
      restarted(isNamed, tidemark = true)("fast", "slow")("fast", "slow")(folders =>
        Seq(() => folders("slow").put("10:30"))) { run =>
        assert(hours(run) === Map("t" -> "12:00", "t#1" -> "10:30"), s"named: $isNamed")
      }
  }

  testMore("a watermark above sources with names continues where it was if these change places") {
    withTempDir { parent =>
      val folders = Seq("fast", "slow").map(new Folder(parent, _))
      def query(order: Seq[Folder]) =
        order.map(_.rows(isNamed = true)).reduce(_ union _).withWatermark("t", "0 seconds")
      withSQLConf(evolving: _*) {
        val recorder = new Recorder("append", new File(parent, "checkpoint"))
        recorder.run(query(folders))(() => folders.head.put("12:00"))
        recorder.run(query(folders.reverse))(() => folders.last.put("10:30"))
        assert(hours(recorder) === Map("t" -> "12:00"))
      }
    }
  }

  testMore("one source with two watermarks of one name continues where it was") {
    restarted(isNamed = false, tidemark = true)("slow", "fast", "slow")("slow", "fast", "slow")(folders =>
      Seq(() => folders("slow").put("10:30"))) { run =>
      assert(hours(run) === Map("t" -> "10:30", "t#1" -> "12:00", "t#2" -> "10:30"))
    }
  }

  private def hours(run: Recorder): Map[String, String] =
    watermarks(run).collect { case (name, Some(at)) => name -> f"${at / 3600000 % 24}%d:${at / 60000 % 60}%02d" }
}
