import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.nio.file.StandardOpenOption.{APPEND, CREATE}

/** Tells `build/steps.py` how many tests have run. */
object Counts {
  def add(passed: Int, failed: Int, skipped: Int): Unit =
    sys.env.get("TIDEMARK_COUNTS").foreach { file =>
      Files.write(Paths.get(file), s"$passed $failed $skipped\n".getBytes(UTF_8), CREATE, APPEND)
    }
}
