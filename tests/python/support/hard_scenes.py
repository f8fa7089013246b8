"""Scenes that are hard to solve in single precision, drawn with a seed: a family a function, each gives MJCF.

What makes them hard is said with each family. Everything in them is simulated; none is meant to be sensible.
"""

import numpy as np


def text(values):
    return " ".join(f"{x:.6g}" for x in np.atleast_1d(values))


def power(rng, low, high):
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def options(rng, timestep=0.002, **more):
    more.setdefault("cone", rng.choice(["pyramidal", "elliptic"]))
    more.setdefault("integrator", rng.choice(["Euler", "implicitfast"]))
    return f'<option timestep="{timestep:g}"' + "".join(f' {k}="{v}"' for k, v in more.items()) + "/>"


def shape(rng, size, kinds=("sphere", "capsule", "box", "cylinder")):
    """A geom about so large, as type and size."""
    kind = str(rng.choice(kinds))
    sizes = size * rng.uniform(0.5, 1, 3)
    return f'type="{kind}" size="{text(sizes[: dict(sphere=1, capsule=2, cylinder=2, box=3)[kind]])}"'


def scene(rng, bodies, *, floor=True, extra="", **option):
    plane = '<geom type="plane" size="9 9 1"/>' if floor else ""
    return f"<mujoco>{options(rng, **option)}<worldbody>{plane}{bodies}</worldbody>{extra}</mujoco>"


PENDULUM = '<body pos="5 0 2"><joint axis="0 1 0"/><geom size=".1" pos=".4 0 0"/></body>'


def rollers(rng):
    """Rollers on fixed axles against posts: rows whose normal runs through the axle are rounding, without weight."""
    bodies, motors = "", ""
    for k in range(int(rng.integers(1, 4))):
        angle, depth, kind = (
            rng.uniform(0, 2 * np.pi),
            power(rng, 1e-5, 1e-2),
            rng.choice(["sphere", "capsule", "cylinder"]),
        )
        radius = rng.uniform(0.1, 0.3)
        at = np.array([2.0 * k, 0, 1])
        other = at + (radius + 0.1 - depth) * np.array([np.cos(angle), np.sin(angle), 0])
        bodies += (
            f'<geom type="{rng.choice(["sphere", "capsule"])}" size=".1 .2" pos="{text(other)}"/><body pos="{text(at)}">'
            f'<joint name="j{k}" axis="0 0 1"/><geom type="{kind}" size="{text(radius)} .2"/></body>'
        )
        motors += f'<motor joint="j{k}" gear="{power(rng, 0.1, 30):g}"/>'
    return scene(rng, bodies + PENDULUM, floor=False, extra=f"<actuator>{motors}</actuator>")


def sunk_bases(rng):
    """Bases that stand in the floor and cannot leave it, with an arm on them."""
    axis = rng.choice(["0 0 1", "0 1 0", "1 0 0"])
    kind = rng.choice(["slide", "hinge"])
    half = rng.uniform(0.04, 0.1)
    base = rng.choice([f'type="cylinder" size=".1 {half:g}"', f'type="box" size=".1 .08 {half:g}"'])
    arm = (
        f'<body pos="0 0 {half:g}"><joint name="b" axis="0 1 0" damping="{power(rng, 0.01, 1):g}"/>'
        '<geom type="capsule" size=".03" fromto="0 0 .05 0 0 .4"/></body>'
    )
    bodies = (
        f'<body pos="0 0 {half - power(rng, 1e-5, 5e-3):g}"><joint name="a" type="{kind}" axis="{axis}" damping="1"/>'
        f'<geom {base}/>{arm}</body><body pos=".3 0 .4"><freejoint/><geom {shape(rng, 0.1)}/></body>'
    )
    return scene(rng, bodies, extra='<actuator><motor joint="a" gear="5"/><motor joint="b" gear="2"/></actuator>')


def servo_loops(rng):
    """Strong servos on closed loops: two bars tied at their ends, forces of 1e6 N that nearly cancel."""
    gear = power(rng, 10, 1e4)
    ties = f'<connect body1="bar" body2="other" anchor="{text(rng.uniform(0.3, 0.5))} 0 0"/>'
    if rng.random() < 0.5:
        ties += '<connect body1="post" body2="turns" anchor="1 0 -1"/>'
    tied = ""
    if rng.random() < 0.5:
        tied = '<body name="free" pos="-1 0 1"><freejoint/><geom type="box" size=".2 1 .2" contype="0"/></body>'
        ties += f'<weld body1="free" relpose="0 0 -.1 1 -.3 0 0" torquescale="{power(rng, 1e-3, 1):g}"/>'
    bodies = tied + (
        '<body name="post" pos="-3 0 1"/><body name="turns" pos="-3 0 1"><joint name="t" axis="0 1 0"/>'
        '<geom type="box" size=".2 1 .2" pos="0 -1 0" contype="0"/></body>'
        '<body name="bar" pos="0 0 1"><joint name="b" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .5 0 0"/></body>'
        '<body name="other" pos="0 .2 1"><joint name="o" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .5 0 0"/></body>'
    )
    drives = f'<position joint="b" gear="{gear:g}" kp="20"/><motor joint="o" gear="{gear:g}"/><motor joint="t" gear="{gear:g}"/>'
    return scene(rng, bodies + PENDULUM, extra=f"<equality>{ties}</equality><actuator>{drives}</actuator>")


def mass_ratios(rng):
    """Heavy bodies on light ones, mass ratios to 1e4."""
    bodies, z = "", 0.0
    for k in range(int(rng.integers(2, 6))):
        half = rng.uniform(0.06, 0.12)
        z += half
        density = 100 * power(rng, 1, 1e4) if k % 2 else 100
        bodies += (
            f'<body pos="{text(rng.normal(0, 0.005, 2))} {z - 0.001 * k:g}"><freejoint/>'
            f'<geom type="box" size=".12 .12 {half:g}" density="{density:g}"/></body>'
        )
        z += half
    return scene(rng, bodies)


def millimetres(rng):
    """Millimetres and grams, in metres and kilograms, or the same numbers without units."""
    size = 10 ** rng.uniform(-3, -2) if rng.random() < 0.7 else 10.0
    bodies = "".join(
        f'<body pos="{text(rng.normal(0, size, 2))} {size * (1 + 2 * k):g}"><freejoint/><geom {shape(rng, size)}/></body>'
        for k in range(int(rng.integers(2, 5)))
    )
    timestep = float(np.clip(0.1 * np.sqrt(size / 9.81), 1e-4, 0.01))
    return scene(rng, bodies, timestep=round(timestep, 6))


def stiff_references(rng):
    """Springs given directly, with stiffness to 1e6, and impedances close to one."""
    k = power(rng, 1e3, 1e6)
    near = 1 - power(rng, 1e-4, 1e-1)
    ref = f'solref="{-k:g} {-2 * np.sqrt(k) * rng.uniform(0.3, 2):g}" solimp="{near:g} {near:g} .001 .5 2"'
    bodies = "".join(
        f'<body pos="{text(rng.normal(0, 0.1, 2))} {0.1 + 0.2 * j:g}"><freejoint/><geom {shape(rng, 0.1)} {ref}/></body>'
        for j in range(int(rng.integers(1, 4)))
    )
    return scene(rng, bodies, timestep=0.001)


def tight_limits(rng):
    """Limits closer to each other than their margins: both push, against one another."""
    width = power(rng, 1e-3, 0.3)
    bodies, motors = "", ""
    for k in range(3):
        size = power(rng, 0.05, 1)
        kind = rng.choice(["hinge", "slide"])
        bodies += (
            f'<body pos="{3 * k} 0 2"><joint name="l{k}" type="{kind}" axis="{text(rng.normal(size=3))}" limited="true" '
            f'range="{-width * rng.random():g} {width:g}" margin="{width * power(rng, 0.1, 3):g}"/>'
            f'<geom size="{size:g}" pos="{size * rng.random():g} 0 0" contype="0"/></body>'
        )
        motors += f'<motor joint="l{k}" gear="{power(rng, 1, 1e4):g}"/>'
    return scene(rng, bodies, floor=False, extra=f"<compiler angle='radian'/><actuator>{motors}</actuator>")


def dry_friction(rng):
    """Dry friction over six decades, of joints and of surfaces."""
    inner, motors = "", ""
    for k in reversed(range(int(rng.integers(2, 5)))):
        inner = (
            f'<body pos="{0.3 if k else 0} 0 {0 if k else 1}"><joint name="f{k}" axis="{rng.choice(["0 1 0", "0 0 1"])}" '
            f'frictionloss="{power(rng, 1e-3, 1e3):g}"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>{inner}</body>'
        )
        motors += f'<motor joint="f{k}" gear="{power(rng, 0.1, 100):g}"/>'
    loose = "".join(
        f'<body pos="{text(rng.uniform(-1, 1, 2))} .1"><freejoint/>'
        f'<geom {shape(rng, 0.1)} friction="{power(rng, 1e-4, 3):g} .005 .0001" priority="1"/></body>'
        for _ in range(2)
    )
    return scene(rng, inner + loose, extra=f"<actuator>{motors}</actuator>")


def light_chains(rng):
    """Long light chains with a weight at their end."""
    count = int(rng.integers(8, 16))
    inner = f'<body pos=".1 0 0"><joint axis="0 1 0" damping=".001"/><geom size=".08" mass="{power(rng, 0.1, 10):g}"/></body>'
    for k in reversed(range(count)):
        kind = "ball" if rng.random() < 0.3 else "hinge"
        axis = "" if kind == "ball" else f'axis="{rng.choice(["0 1 0", "0 0 1"])}"'
        limit = 'limited="true" range="0 30"' if kind == "ball" else 'limited="true" range="-30 30"'
        inner = (
            f'<body pos="{0.1 if k else 0} 0 {0 if k else 1.2}"><joint type="{kind}" {axis} {limit} damping=".001"/>'
            f'<geom type="capsule" size=".01" fromto="0 0 0 .1 0 0" density="{power(rng, 10, 1000):g}" contype="0"/>{inner}</body>'
        )
    return scene(rng, inner)


def piles(rng):
    """Mixed shapes on a floor, with every number of rows a contact."""
    bodies = "".join(
        f'<body pos="{text(rng.normal(0, 0.15, 2))} {0.1 + 0.2 * k:g}"><freejoint/>'
        f'<geom {shape(rng, 0.12)} condim="{rng.choice([1, 3, 4, 6])}"/></body>'
        for k in range(int(rng.integers(2, 5)))
    )
    return scene(rng, bodies)


def rubbing_stacks(rng):
    """Boxes on each other whose friction is far stiffer than their normal: the active set changes along short steps."""
    cubes = "".join(
        f'<body pos="{text(rng.normal(0, 0.02, 2))} {0.095 + 0.19 * k:g}"><freejoint/><geom type="box" size=".1 .1 .1" '
        f'mass="{power(rng, 0.1, 10):g}" condim="{rng.choice([3, 4, 6])}" friction="1 .05 .001"/></body>'
        for k in range(int(rng.integers(2, 4)))
    )
    return scene(rng, cubes, impratio=f"{power(rng, 10, 1e4):g}", cone="pyramidal")


FAMILIES = (
    rollers, sunk_bases, servo_loops, mass_ratios, millimetres, stiff_references, tight_limits, dry_friction, light_chains,
    piles, rubbing_stacks,
)  # fmt: skip


def draw(seed, each):
    """`each` scenes of every family, as (name, MJCF)."""
    for family in FAMILIES:
        for k in range(each):
            rng = np.random.default_rng([seed, FAMILIES.index(family), k])
            yield f"{family.__name__} {k}", family(rng)
