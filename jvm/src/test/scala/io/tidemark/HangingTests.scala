package io.tidemark

import java.io.PrintStream
import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}

import scala.jdk.CollectionConverters._

import org.scalatest.ResourcefulReporter
import org.scalatest.events._

/** Fails a test that takes too long, or a suite between two tests: prints the stacks of all threads, and interrupts it.
  *
  * If the interrupted thread goes on, the JVM is ended, which fails the whole run.
  *
  * @param limit what a test may take, in ms
  */
final class HangingTests(limit: Long, out: PrintStream) extends ResourcefulReporter {
  import HangingTests._

  /** For ScalaTest, which makes the instance by name. */
  def this() = this(SECONDS.toMillis(sys.props(HangingTests.Seconds).toLong), System.err)

  /** What runs now; null before the first suite and after the last one. */
  @volatile private var current: Running = _
  @volatile private var isDisposed = false

  private val watch = new Thread("tests that hang") {
    setDaemon(true)
    override def run(): Unit = while (!isDisposed) {
      MILLISECONDS.sleep(math.min(1000, limit / 4))
      Option(current).filter(_.millis > limit && !isDisposed).foreach(end)
    }
  }
  watch.start()

  override def apply(event: Event): Unit = event match {
    case e: SuiteStarting => current = new Running(s"${e.suiteName}, before its tests", e.threadName)
    case e: TestStarting => current = new Running(s"${e.suiteName}: ${e.testName}", e.threadName)
    case e: TestSucceeded => current = new Running(s"${e.suiteName}, after: ${e.testName}", e.threadName)
    case e: TestFailed => current = new Running(s"${e.suiteName}, after: ${e.testName}", e.threadName)
    case e: TestCanceled => current = new Running(s"${e.suiteName}, after: ${e.testName}", e.threadName)
    case _: SuiteCompleted | _: SuiteAborted | _: RunCompleted | _: RunAborted | _: RunStopped => current = null
    case _ =>
  }

  override def dispose(): Unit = {
    isDisposed = true
    current = null
  }

  private def end(hanging: Running): Unit = {
    val stacks = Thread.getAllStackTraces.asScala.toSeq.sortBy(_._1.getName)
    val dump = stacks.map { case (thread, stack) =>
      (s"${thread.getName} (${thread.getState})" +: stack.toSeq).mkString("\n    at ")
    }
    out.println(dump.mkString("\n", "\n\n", s"\n\n*** HANGS *** after $limit ms: ${hanging.name}"))
    stacks.collect { case (thread, _) if thread.getName == hanging.thread => thread.interrupt() }
    val giveUp = System.nanoTime() + MILLISECONDS.toNanos(GraceMillis)
    while ((current eq hanging) && System.nanoTime() < giveUp) MILLISECONDS.sleep(100)
    if (current eq hanging) {
      out.println(s"*** DOES NOT END *** after an interrupt: ${hanging.name}")
      // Hooks for the end of the JVM might hang as well.
      Runtime.getRuntime.halt(1)
    }
  }
}

object HangingTests {

  /** The property with the seconds that a test may take. */
  val Seconds = "tidemark.test.seconds"

  private val GraceMillis = 30000L

  private final class Running(val name: String, val thread: String) {
    private val start = System.nanoTime()
    def millis: Long = (System.nanoTime() - start) / 1000000
  }
}
