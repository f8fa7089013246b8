"""Memory may end at any request: a call that raises MemoryError has changed nothing, and what it was asked of goes on
with the bits that it would have had."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import dualstep as ds

# denies one request of the process, after so many; `spare` is a size that is always granted
INTERPOSER = r"""
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
void *__libc_realloc(void*, size_t), *__libc_memalign(size_t, size_t);
// where no request is counted, `left` is negative
static atomic_long left = -1, spared = -1;
static int granted(size_t n) {
  if (atomic_load(&left) < 0 || (long)n == atomic_load(&spared) || atomic_fetch_sub(&left, 1) != 0) return 1;
  errno = ENOMEM;
  return 0;
}
void deny_after(long requests, long spare) {
  atomic_store(&spared, spare);
  atomic_store(&left, requests);
}
// how many are granted until one is denied; negative where one was
long requests_left(void) { return atomic_exchange(&left, -1); }
void* malloc(size_t n) { return granted(n) ? __libc_malloc(n) : NULL; }
void* calloc(size_t k, size_t n) { return granted(k * n) ? __libc_calloc(k, n) : NULL; }
void* realloc(void* p, size_t n) { return granted(n) ? __libc_realloc(p, n) : NULL; }
void* memalign(size_t a, size_t n) { return granted(n) ? __libc_memalign(a, n) : NULL; }
void* aligned_alloc(size_t a, size_t n) { return granted(n) ? __libc_memalign(a, n) : NULL; }
int posix_memalign(void** p, size_t a, size_t n) {
  *p = granted(n) ? __libc_memalign(a, n) : NULL;
  return *p ? 0 : ENOMEM;
}
"""

# shapes of three kinds in touch, a tendon at its limit, sensors, a keyframe
SCENE = """<mujoco><option timestep="0.0005"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="box" pos="0 0 .095"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body name="ball" pos=".05 0 .28"><freejoint/><geom size=".1"/><site name="s" size=".2"/></body>
<body pos="1 0 .3"><joint name="h" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 -.25" size=".05"/></body>
</worldbody><tendon><fixed name="t" range="-.1 .1" limited="true"><joint joint="h" coef="1"/></fixed></tendon>
<actuator><motor joint="h" gear="3"/></actuator><sensor><touch site="s"/><tendonpos tendon="t"/></sensor>
<keyframe><key qpos=".1 0 .09 1 0 0 0 .1 0 .27 1 0 0 0 .2"/></keyframe></mujoco>"""

SCRIPT = """
import ctypes, json, sys
import numpy as np
import dualstep as ds
_, library, scene, law, threads, *denied_calls = sys.argv
library = ctypes.CDLL(library)
deny, left = library.deny_after, library.requests_left
deny.argtypes, left.restype = [ctypes.c_long] * 2, ctypes.c_long
model, N, threads = ds.Model.from_mjcf(scene), 70, int(threads)
model.opt.contact_model = law
# granted always: pybind11 lists a new object where no exception is translated, which would end the process
NOTE = 24
many = [ds._core.BatchOptions() for _ in range(1000)]
del many

mask, envs = np.arange(N) % 3 == 0, list(range(N))
gravity = np.array([[0.1, 0, -9.0], [0.2, 0, -8.0]])
origin = np.tile(np.array([[0, 0, 3], [1, 0, 3], [9, 9, -3]], np.float32), (N, 1, 1))
down = np.tile(np.array([0, 0, -1], np.float32), (N, 3, 1))
ctrl = np.linspace(-1, 1, 2 * N, dtype=np.float32).reshape(2, N, 1)
WANTED = ["contact_count", "contact_pos", "xpos"]

class Batches:
    def __init__(self):
        self.batch, self.kept, self.seen = None, {}, []

    # the extension's own calls where there are any: Python's objects ask the same allocator
    def calls(self):
        keep, core = self.kept.__setitem__, lambda: self.batch._core
        return {
            "Batch": lambda: setattr(self, "batch", ds.Batch(model, N, num_threads=threads)),
            "step": lambda: core().step(2),
            "view": lambda: core().view("qacc"),
            "want": lambda: core().want(WANTED),
            "set_parameter": lambda: core().set_parameter("opt_gravity", gravity, [3, 50]),
            "step with parameters": lambda: core().step(3),
            "get_parameter": lambda: keep("gravity", core().get_parameter("opt_gravity", envs)),
            "ray": lambda: keep("ray", np.array(core().ray(origin, down, 63, -1, True))),
            "reset": lambda: core().reset(mask, 0),
            "save": lambda: keep("save", core().save(envs)),
            "step that is undone": lambda: core().step(1),
            "load": lambda: core().load(self.kept["save"], envs),
            "forward": lambda: core().forward(mask),
            "contacts": lambda: keep("force", self.batch.contacts().force.copy()),
            "summary": lambda: core().summary(),
            "rollout": lambda: keep("rollout", self.batch.rollout(ctrl, 2, ("qpos",))["qpos"]),
            "sensors": lambda: core().want(["contacts_needed", "sensordata"]),
            "last step": lambda: core().step(1),
        }

    def done(self, name):
        self.seen += {"view": ["qacc"], "want": WANTED, "sensors": ["contacts_needed", "sensordata"]}.get(name, [])

    def state(self):
        if self.batch is None:
            return []
        return [self.batch.save(), *(np.array(self.batch._core.view(name)).tobytes() for name in self.seen)]

    # what a call that fails may leave: what was there; of a rollout, whole steps, and the controls of the next
    def states(self, name):
        states = []
        if name == "rollout":
            self.saved = self.batch.save()
            for row in ctrl:
                self.batch.ctrl[...] = row
                states.append(self.state())
                self.batch.step(2)
                states.append(self.state())
            self.batch.load(self.saved)
        return [self.state(), *states]

    def again(self, name):
        if name == "rollout":
            self.batch.load(self.saved)

    def touching(self):
        return int(self.batch.contact_count.min())

class References:
    def __init__(self):
        self.reference, self.kept = None, {}

    def calls(self):
        return {
            "Reference": lambda: setattr(self, "reference", ds.Reference(model)),
            "step of a reference": lambda: self.reference.step(2),
            "contacts of a reference": lambda: self.kept.__setitem__("force", self.reference.contacts().force),
            "mass matrix of a reference": lambda: self.kept.__setitem__("M", self.reference.mass_matrix()),
            "last step of a reference": lambda: self.reference.step(1),
        }

    def done(self, name):
        pass

    def state(self):
        return [array.tobytes() for array in self.reference._arrays.values()] if self.reference else []

    def states(self, name):
        return [self.state()]

    def again(self, name):
        pass

    def touching(self):
        return self.reference.contacts().count

def answers(life):
    return {name: answer if isinstance(answer, bytes) else answer.tobytes() for name, answer in life.kept.items()}

def run(kind, denied=None, request=0):
    '''The calls of a life, one of which is denied a request and made again; how it ended the first time.'''
    life, ended = kind(), None
    for name, call in life.calls().items():
        if name == denied:
            states = life.states(name)
            deny(request, NOTE if name in ("Batch", "Reference") else -1)
            try:
                call()
                ended = left()
            except Exception as error:
                assert left() < 0
                # what pybind11 says of an answer that Python had no memory for
                told = error if isinstance(error, MemoryError) else error.__cause__
                if not isinstance(told, MemoryError):
                    raise
                ended = [type(error).__name__, life.state() in states]
                life.again(name)
                call()
            else:
                if ended < 0:
                    # the call that was denied has done without
                    ended = ["nothing", True]
        else:
            call()
        life.done(name)
    return ended, (life.state(), answers(life)), life.touching()

ENOUGH = 10**6
found = {"touching": [], "denied": {}, "changed": [], "other": [], "raised": []}
for kind in (Batches, References):
    names = [name for name in kind().calls() if not denied_calls or name in denied_calls]
    if not names:
        continue
    _, wanted, touching = run(kind)
    found["touching"].append(touching)
    for name in names:
        ended, same, _ = run(kind, name, ENOUGH)
        assert same == wanted, name
        requests = ENOUGH - ended
        # the first and the last, and some of those between
        some = {*range(min(6, requests)), *range(max(0, requests - 3), requests)}
        some |= {int(6 * 1.4**k) for k in range(40) if 6 * 1.4**k < requests}
        found["denied"][name] = 0
        for request in sorted(some):
            ended, state, _ = run(kind, name, request)
            if not isinstance(ended, list):
                continue
            found["denied"][name] += 1
            found["raised"] += [] if ended[0] in ("MemoryError", "nothing") else [[name, request, ended[0]]]
            found["changed"] += [] if ended[1] else [[name, request]]
            found["other"] += [] if state == wanted else [[name, request]]
print(json.dumps(found))
"""

BATCH = "Batch step view want set_parameter get_parameter ray reset save load forward contacts rollout sensors".split()
THREADED = "Batch step reset forward rollout".split()
# they ask for no memory
QUIET = ["step with parameters", "step that is undone", "summary", "last step"]
REFERENCE = [f"{name} of a reference" for name in ("step", "contacts", "mass matrix", "last step")]


@pytest.fixture(scope="module")
def denials(tmp_path_factory):
    """What became of calls that were denied memory, in a process of its own."""
    folder = tmp_path_factory.mktemp("deny")
    (folder / "deny.c").write_text(INTERPOSER)
    library = folder / "deny.so"
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    words = ["cc", "-O1", "-fPIC", "-shared", str(folder / "deny.c"), "-o", str(library)]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("no glibc to stand before")
    path = os.pathsep.join(filter(None, [str(pathlib.Path(ds.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "LD_PRELOAD": str(library), "PYTHONMALLOC": "pymalloc"}

    @functools.cache
    def run(law, threads, *calls):
        words = [sys.executable, "-c", SCRIPT, str(library), SCENE, law, str(threads), *calls]
        ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return run


RUNS = {
    "batch": ("todorov", 1, *BATCH, *QUIET),
    "threads": ("soft_anchor", 2, *THREADED),
    "reference": ("todorov", 1, "Reference", *REFERENCE),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_call_that_is_denied_memory_changes_nothing(denials, name):
    found = denials(*RUNS[name])
    assert found["changed"] == [] and found["other"] == []
    # bodies are in touch, and every call was denied something, but those that ask for nothing
    assert min(found["touching"]) > 2
    assert {call for call, count in found["denied"].items() if count} == set(RUNS[name][2:]) - set(QUIET)
    assert found["raised"] == []
