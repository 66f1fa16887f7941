"""A filter of Spark's web UI that takes the user's name from the address, as one of a company takes it from a login."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pyspark

_SOURCE = """
import jakarta.servlet.*;
import jakarta.servlet.http.*;

public class UserFilter implements Filter {
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws java.io.IOException, ServletException {
        chain.doFilter(new HttpServletRequestWrapper((HttpServletRequest) request) {
            @Override public String getRemoteUser() { return getParameter("user"); }
        }, response);
    }
}
"""
COMPILER = shutil.which("javac")


def user_filter(folder: Path) -> tuple[str, str]:
    """The name of the class, and the class path that it is in."""
    assert COMPILER
    folder.mkdir()
    source = folder / "UserFilter.java"
    source.write_text(_SOURCE)
    jars = f"{Path(pyspark.__file__).parent}/jars/*"
    command = [COMPILER, "-cp", jars, "-d", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return "UserFilter", str(folder)
