"""An extension of Spark with a part at every place where Delta, Iceberg and Tidemark have one. It changes nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pyspark

NAME = "OtherExtension"
COMPILER = shutil.which("javac")
_SOURCE = """
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

public class OtherExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    public static final ConcurrentHashMap<String, Integer> used = new ConcurrentHashMap<>();

    static void note(String what) { used.merge(what, 1, Integer::sum); }

    static class Logical extends Rule<LogicalPlan> {
        private final String name;
        Logical(String name) { this.name = name; }
        public LogicalPlan apply(LogicalPlan plan) { note(name); return plan; }
    }

    static class Physical extends Rule<SparkPlan> {
        private final String name;
        Physical(String name) { this.name = name; }
        public SparkPlan apply(SparkPlan plan) { note(name); return plan; }
    }

    static class Columnar extends ColumnarRule {
        public Rule<SparkPlan> preColumnarTransitions() { return new Physical("columnar"); }
        public Rule<SparkPlan> postColumnarTransitions() { return new Physical("columnar"); }
    }

    static class Planner extends SparkStrategy {
        @SuppressWarnings("unchecked")
        public Seq<SparkPlan> apply(LogicalPlan plan) {
            note("strategy");
            return (Seq<SparkPlan>) (Object) scala.collection.immutable.Nil$.MODULE$;
        }
    }

    static ParserInterface parsing(ParserInterface parser) {
        return (ParserInterface) Proxy.newProxyInstance(
            parser.getClass().getClassLoader(), new Class<?>[] {ParserInterface.class}, (self, method, arguments) -> {
                note("parser");
                try {
                    return method.invoke(parser, arguments);
                } catch (InvocationTargetException error) {
                    throw error.getCause();
                }
            });
    }

    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectParser((session, parser) -> parsing(parser));
        extensions.injectResolutionRule(session -> new Logical("resolution"));
        extensions.injectPostHocResolutionRule(session -> new Logical("post-hoc"));
        extensions.injectCheckRule(session -> new AbstractFunction1<LogicalPlan, BoxedUnit>() {
            public BoxedUnit apply(LogicalPlan plan) { note("check"); return BoxedUnit.UNIT; }
        });
        extensions.injectOptimizerRule(session -> new Logical("optimizer"));
        extensions.injectPreCBORule(session -> new Logical("pre-CBO"));
        extensions.injectPlannerStrategy(session -> new Planner());
        extensions.injectColumnar(session -> new Columnar());
        return BoxedUnit.UNIT;
    }
}
"""


def other_extension(folder: Path) -> str:
    """The class path of the extension."""
    assert COMPILER
    folder.mkdir()
    source = folder / f"{NAME}.java"
    source.write_text(_SOURCE)
    jars = f"{Path(pyspark.__file__).parent}/jars/*"
    command = [COMPILER, "-cp", jars, "-d", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return str(folder)
