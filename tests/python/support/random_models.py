"""Models drawn at random with hypothesis: trees of mixed joints, geoms, actuators and options, as MJCF.

Everything drawn is simulated by dualstep; lengths and masses stay within a decade or two, as in robots.
"""

from hypothesis import strategies as st

GEOMS = ("sphere", "capsule", "box", "cylinder")
FLAGS = ("gravity", "spring", "damper", "clampctrl", "eulerdamp", "actuation")


def number(low, high):
    return st.floats(low, high, allow_nan=False).map(lambda x: round(x, 4))


def numbers(n, low, high):
    return st.lists(number(low, high), min_size=n, max_size=n)


def text(values):
    return " ".join(f"{x:g}" for x in values)


def attributes(**values):
    return "".join(f' {key}="{value}"' for key, value in values.items() if value is not None)


@st.composite
def unit(draw, n):
    """A direction that is not too short to normalize."""
    values = draw(numbers(n, -1, 1).filter(lambda v: sum(x * x for x in v) > 0.05))
    return text(values)


def maybe(strategy):
    return st.one_of(st.none(), strategy)


@st.composite
def joint(draw, name, kinds, contacts):
    kind = draw(st.sampled_from(kinds))
    fields = dict(name=name, type=kind, armature=draw(maybe(number(0, 0.5))), damping=draw(maybe(number(0, 2))))
    fields["stiffness"] = draw(maybe(number(0, 30)))
    if kind != "free":
        fields["pos"] = text(draw(numbers(3, -0.1, 0.1)))
    if kind in ("hinge", "slide"):
        fields["axis"] = draw(unit(3))
        fields["springref"] = draw(maybe(number(-1, 1)))
        fields["ref"] = draw(maybe(number(-0.5, 0.5)))
        if draw(st.booleans()):
            bounds = f"-{draw(number(0.1, 3))} {draw(number(0.1, 3))}"
            fields.update(actuatorfrclimited="true", actuatorfrcrange=bounds)
        if draw(st.booleans()):
            fields["actuatorgravcomp"] = "true"
    if contacts and kind != "free":
        fields["frictionloss"] = draw(maybe(number(0, 0.5)))
        if kind != "ball" and draw(st.booleans()):
            fields.update(limited="true", range=f"-{draw(number(0.1, 1))} {draw(number(0.1, 1))}")
    return kind, f"<joint{attributes(**fields)}/>"


@st.composite
def geom(draw, contacts):
    kind = draw(st.sampled_from(GEOMS))
    size = draw(numbers({"sphere": 1, "box": 3}.get(kind, 2), 0.03, 0.2))
    mask = {} if contacts else {"contype": 0, "conaffinity": 0}
    fields = dict(type=kind, size=text(size), pos=text(draw(numbers(3, -0.2, 0.2))), quat=draw(unit(4)))
    return f"<geom{attributes(**fields, density=draw(number(200, 2000)), **mask)}/>"


@st.composite
def transmission(draw, joints, sites):
    """What an actuator acts on, and its gear."""
    kind = draw(st.sampled_from(("joint", "joint", "jointinparent", "site", "refsite", "slidercrank")))
    one, other = draw(st.sampled_from(sites)), draw(st.sampled_from(sites))
    if kind == "slidercrank":
        length = draw(number(0.1, 1))
        return dict(cranksite=one, slidersite=other, cranklength=length), draw(numbers(1, -3, 3))
    if "site" in kind:
        gear = draw(numbers(6, -3, 3))
        # places alone, turns alone, and both
        part = draw(st.sampled_from((slice(0, 0), slice(0, 3), slice(3, 6))))
        gear[part] = [0.0] * len(gear[part])
        return dict(site=one, **({"refsite": other} if kind == "refsite" else {})), gear
    name, joint = draw(st.sampled_from(joints))
    return {kind: name}, draw(numbers({"free": 6, "ball": 3}.get(joint, 1), -3, 3))


@st.composite
def muscle(draw):
    """Parameters of gain and bias, of activation dynamics, and the lengths that they are for."""
    low, short = draw(number(0.4, 0.9)), draw(number(-1, 1))
    prm = [low, low + draw(number(0.1, 0.6)), draw(st.sampled_from((-1, 10))), draw(number(1, 50)),
           draw(number(0.2, 0.9)), draw(number(1.1, 2)), draw(number(0.5, 5)), draw(number(0.1, 2)), draw(number(1.05, 1.6))]  # fmt: skip
    dyn = [draw(number(0.01, 0.05)), draw(number(0.02, 0.1)), draw(st.sampled_from((0, 0.1, 1)))]
    return text(prm), text(dyn), text((short, short + draw(number(0.3, 2))))


@st.composite
def actuator(draw, joints, sites):
    target, gear = draw(transmission(joints, sites))
    kp, kv = draw(number(0, 20)), draw(number(0, 3))
    shape = draw(
        st.sampled_from(("motor", "position", "velocity", "affine", "integrator", "filter", "filterexact", "muscle"))
    )
    fields = dict(**target, gear=text(gear), group=draw(st.integers(0, 3)))
    if draw(st.booleans()):
        fields.update(ctrllimited="true", ctrlrange=f"-{draw(number(0.1, 2))} {draw(number(0.1, 2))}")
    if draw(st.booleans()):
        fields.update(forcelimited="true", forcerange=f"-{draw(number(0.1, 5))} {draw(number(0.1, 5))}")
    if shape == "affine":
        fields.update(gaintype="affine", gainprm=text(draw(numbers(3, -2, 2))))
    else:
        fields["gainprm"] = kp
    if shape == "position":
        fields.update(biastype="affine", biasprm=f"0 {-kp:g} {-kv:g}")
    elif shape == "velocity":
        fields.update(biastype="affine", biasprm=f"0 0 {-kv:g}")
    elif shape == "affine":
        fields.update(biastype="affine", biasprm=text(draw(numbers(3, -2, 0))))
    elif shape == "muscle":
        prm, dyn, span = draw(muscle())
        fields.update(dyntype="muscle", dynprm=dyn, gaintype="muscle", gainprm=prm, biastype="muscle", biasprm=prm)
        fields.update(lengthrange=span, actearly=draw(st.sampled_from(("true", "false"))))
    elif shape != "motor":
        fields.update(dyntype=shape, dynprm=draw(number(0.01, 0.2)), actearly=draw(st.sampled_from(("true", "false"))))
        if draw(st.booleans()):
            fields.update(actlimited="true", actrange=f"-{draw(number(0.1, 2))} {draw(number(0.1, 2))}")
    return f"<general{attributes(**fields)}/>"


@st.composite
def option(draw):
    fields = dict(timestep=draw(st.sampled_from((0.001, 0.002, 0.005))), gravity=text(draw(numbers(3, -10, 10))))
    fields["integrator"] = draw(st.sampled_from(("Euler", "implicitfast", "RK4")))
    if draw(st.booleans()):
        fields.update(density=draw(number(0, 100)), viscosity=draw(number(0, 1)), wind=text(draw(numbers(3, -3, 3))))
    if draw(st.booleans()):
        fields["actuatorgroupdisable"] = draw(st.integers(0, 3))
    flags = dict.fromkeys(draw(st.lists(st.sampled_from(FLAGS), max_size=2, unique=True)), "disable")
    return f"<option{attributes(**fields)}><flag{attributes(**flags)}/></option>"


@st.composite
def models(draw, contacts=False, most_bodies=6):
    """MJCF text; `contacts` lets geoms touch and adds a floor, limits and friction loss."""
    count = draw(st.integers(1, most_bodies))
    parents = [-1] + [draw(st.integers(-1, i - 1)) for i in range(1, count)]
    joints, parts, sites = [], [], [f"site{i}" for i in range(count)]
    for i in range(count):
        inside = []
        kinds = ("free", "ball", "hinge", "slide") if parents[i] < 0 else ("ball", "hinge", "slide")
        for k in range(draw(st.integers(1, 3))):
            kind, xml = draw(joint(f"joint{i}_{k}", kinds, contacts))
            inside.append(xml)
            joints.append((f"joint{i}_{k}", kind))
            if kind in ("free", "ball"):
                break
            kinds = ("ball", "hinge", "slide") if k == 0 else ("hinge", "slide")
        inside += [draw(geom(contacts)) for _ in range(draw(st.integers(1, 2)))]
        inside.append(f"<site{attributes(name=sites[i], pos=text(draw(numbers(3, -0.3, 0.3))), quat=draw(unit(4)))}/>")
        place = dict(pos=text(draw(numbers(3, -0.5, 0.5))), quat=draw(unit(4)), gravcomp=draw(maybe(number(0, 2))))
        parts.append((attributes(name=f"body{i}", **place), inside))

    def body(i):
        children = "".join(body(k) for k in range(count) if parents[k] == i)
        return f"<body{parts[i][0]}>{''.join(parts[i][1])}{children}</body>"

    floor = '<geom type="plane" size="5 5 1" pos="0 0 -0.3"/>' if contacts else ""
    tree = floor + "".join(body(i) for i in range(count) if parents[i] < 0)
    acts = "".join(draw(actuator(joints, sites)) for _ in range(draw(st.integers(0, 4))))
    return f"<mujoco>{draw(option())}<worldbody>{tree}</worldbody><actuator>{acts}</actuator></mujoco>"
