import scala.concurrent.{blocking, Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration

import Fail.fail
import sbt._

/** How it went with one suite: how many tests it has, how many of them are of this tier, and what came of these. */
final case class Ran(suite: String, tests: Int, chosen: Int, millis: Long, outcomes: Seq[Outcome])

/** Runs suites in several JVMs side by side, each of which takes the next one that is left: `io.tidemark.Lane`.
  *
  * A micro-batch is mostly the work of one thread, so that one JVM leaves half of two processors idle.
  *
  * @param javaOptions of a JVM, by the folder that is its own
  */
final class Lanes(target: File, classPath: Seq[File], javaOptions: File => Seq[String], log: Logger) {

  /** @param suites in the order in which they are begun: what takes longest comes first
    * @param tier the name of the tests' tier
    * @param seconds a test that takes longer hangs
    */
  def run(lanes: Int, folder: File, suites: Seq[String], tier: String, seconds: Int): Seq[Ran] = {
    IO.delete(folder)
    IO.writeLines(folder / "suites.txt", suites)
    val runs = (1 to lanes).map(lane => Future(blocking(fork(lane, folder, tier, seconds))))
    val ended = runs.map(Await.result(_, Duration.Inf))
    val all = suites.map { suite =>
      val done = folder / s"$suite.done"
      if (!done.exists) fail(s"$suite was not run to its end. See above, and the logs ${logs(lanes).mkString(", ")}.")
      val Array(tests, chosen, millis) = IO.read(done).split(" ")
      val outcomes = SuiteReport.read(folder / s"TEST-$suite.xml", suite)
      Ran(suite, tests.toInt, chosen.toInt, millis.toLong, outcomes)
    }
    if (ended.exists(_ != 0)) fail(s"The JVMs of the tests ended with ${ended.mkString(" and ")}.")
    all
  }

  private def fork(lane: Int, folder: File, tier: String, seconds: Int): Int = {
    val options = ForkOptions()
      .withOutputStrategy(OutputStrategy.LoggedOutput(new Prefixed(s"$lane| ", log)))
      .withWorkingDirectory(ForkedTests.workFolder(laneFolder(lane)))
    Fork.java(
      options,
      javaOptions(laneFolder(lane)) ++
        Seq("-cp", classPath.mkString(java.io.File.pathSeparator), "io.tidemark.Lane", s"$folder", tier, s"$seconds"))
  }

  /** Nothing that a JVM writes is another's: temporary files, working directory, log. */
  private def laneFolder(lane: Int): File = target / s"lane-$lane"

  private def logs(lanes: Int): Seq[File] = (1 to lanes).map(laneFolder(_) / "tests.log")
}

/** Whose line it is stands before each line. */
private final class Prefixed(prefix: String, to: Logger) extends Logger {
  override def trace(t: => Throwable): Unit = to.trace(t)
  override def success(message: => String): Unit = to.success(prefix + message)
  override def log(level: Level.Value, message: => String): Unit = to.log(level, prefix + message)
}
