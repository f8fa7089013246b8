"""Memory may end at any request: a call that raises MemoryError has changed nothing, and the batch goes on with the bits
that it would have had."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from places import ROOT

import dualstep as ds

# denies one request of one thread, after so many
INTERPOSER = r"""
#include <errno.h>
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t), *__libc_memalign(size_t, size_t);
static __thread long left __attribute__((tls_model("initial-exec"))) = -1;
static int granted(void) {
  if (left < 0 || left-- > 0) return 1;
  errno = ENOMEM;
  return 0;
}
int deny_after(long requests) { int came = left < 0; left = requests; return came; }
void* malloc(size_t n) { return granted() ? __libc_malloc(n) : NULL; }
void* calloc(size_t k, size_t n) { return granted() ? __libc_calloc(k, n) : NULL; }
void* realloc(void* p, size_t n) { return granted() ? __libc_realloc(p, n) : NULL; }
void* memalign(size_t a, size_t n) { return granted() ? __libc_memalign(a, n) : NULL; }
void* aligned_alloc(size_t a, size_t n) { return granted() ? __libc_memalign(a, n) : NULL; }
int posix_memalign(void** p, size_t a, size_t n) { *p = granted() ? __libc_memalign(a, n) : NULL; return *p ? 0 : ENOMEM; }
"""

SCRIPT = """
import ctypes, sys
import numpy as np
import dualstep as ds
deny = ctypes.CDLL(sys.argv[1]).deny_after
deny.argtypes = [ctypes.c_long]
model = ds.Model.from_mjcf(sys.argv[2])
# the extension's own calls: Python's objects ask the same allocator
N, threads = 130, int(sys.argv[3])
mask, envs = np.arange(N) % 3 == 0, list(range(N))
gravity = np.array([[0.1, 0, -9.0], [0.2, 0, -8.0]])

def calls(core):
    kept = []
    return [
        lambda: core.step(2),
        lambda: core.view("qacc"),
        lambda: core.want(["contact_count", "contact_pos", "xpos"]),
        lambda: core.set_parameter("opt_gravity", gravity, [3, 50]),
        lambda: core.step(3),
        lambda: core.reset(mask, 0),
        lambda: kept.append(core.save(envs)),
        lambda: core.step(1),
        lambda: core.load(kept[-1], envs),
        lambda: core.forward(mask),
        lambda: core.step(2),
    ]

def batch():
    return ds.Batch(model, N, num_threads=threads)

whole = batch()
for call in calls(whole._core):
    call()
wanted, denied, errors = whole.save(), [0] * 11, 0
for number in range(11):
    request, came = 0, True
    while came:
        twin = batch()
        came = False
        for at, call in enumerate(calls(twin._core)):
            if at != number:
                call()
                continue
            deny(request)
            try:
                call()
                came = bool(deny(-1))
            except MemoryError:
                deny(-1)
                came = True
                denied[number] += 1
                call()
        errors += twin.save() != wanted
        request += 1 if request < 12 else 1 + request // 6
print(sum(denied), errors, denied)
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize("threads", [1, 2])
def test_every_request_of_every_call_may_be_denied(tmp_path, threads):
    (tmp_path / "deny.c").write_text(INTERPOSER)
    library = tmp_path / "deny.so"
    made = subprocess.run(["cc", "-O1", "-fPIC", "-shared", str(tmp_path / "deny.c"), "-o", str(library)], capture_output=True)
    if made.returncode:
        pytest.skip("no glibc to stand before")
    home = str(pathlib.Path(ds.__file__).parents[1])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "LD_PRELOAD": str(library), "PYTHONMALLOC": "pymalloc"}
    scene = ROOT / "tests" / "scenes" / "keyframes.xml"
    words = [sys.executable, "-c", SCRIPT, str(library), str(scene), str(threads)]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    denied, errors, _ = ended.stdout.split(" ", 2)
    assert int(errors) == 0, ended.stdout
    assert int(denied) >= 52, ended.stdout
