"""A wall clock of a program that can be set forward and back, by a library that is loaded before the C library's."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

# CLOCK_REALTIME is 0. All other clocks, such as the monotonic one, go on as they are.
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile long long *ahead;
static int (*of_library)(clockid_t, struct timespec *);

__attribute__((constructor)) static void start(void) {
    of_library = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    const char *name = getenv("WALL_CLOCK_AHEAD");
    int file = name ? open(name, O_RDONLY) : -1;
    if (file >= 0) {
        void *found = mmap(0, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
        if (found != MAP_FAILED) ahead = (volatile long long *) found;
    }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!of_library) start();
    int failed = of_library(clock, now);
    if (!failed && clock == 0 && ahead) now->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    int failed = clock_gettime(0, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(0, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""
COMPILER = shutil.which("cc")
_AHEAD = "WALL_CLOCK_AHEAD"


def movable_clock(folder: Path) -> dict[str, str]:
    """The environment of a program whose clock can be moved. It needs a C compiler."""
    assert COMPILER
    source, library, ahead = (folder / name for name in ("clock.c", "clock.so", "ahead"))
    source.write_text(_SOURCE)
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    ahead.write_bytes(bytes(8))
    return {"LD_PRELOAD": str(library), _AHEAD: str(ahead)}


def move_clock(seconds: int) -> None:
    """Called by the program itself, or by its foreachBatch: moves its clock, and that of its JVM."""
    # Written in place: the file is mapped.
    with Path(os.environ[_AHEAD]).open("r+b") as file:
        (before,) = struct.unpack("<q", file.read(8))
        file.seek(0)
        file.write(struct.pack("<q", before + seconds))
