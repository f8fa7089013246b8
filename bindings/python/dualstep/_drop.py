"""Models without what is not simulated: `Model.from_mjcf(..., drop=...)` edits the model's mjSpec and says how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mujoco

# between a model's name and what it is loaded without
SAID = " is loaded without: "
# measured with MuJoCo 4.0.1 on a box of 0.2 m, at rest on a slope of 20 degrees (docs/coming-from.md)
NOSLIP = (
    "the model asks for {n} noslip iterations, and none are run: contacts creep as they do in MuJoCo without them. "
    "That is the regularization of friction, and no error of the solver, whose forces are converged here. A box at "
    "rest on a slope of 20 degrees creeps at 1.9 mm/s with pyramidal cones, at 0.9 with elliptic ones, at a tenth of "
    "that with opt.impratio = 10 and at a hundredth with 100; in MuJoCo with 3 noslip iterations at 0.0005 mm/s. "
    "drop='noslip' loads the model without this warning"
)
SLEEP = (
    "the model asks for trees at rest to sleep, and none do: all trees are simulated at all times, as MuJoCo does "
    "without the flag. drop='sleep' loads the model without this warning"
)
Problems = Iterable[tuple[str, str, str]]
_LABEL = re.compile(r"^(\w+) (?:'(.*)'|(\d+))")
# what an element is called in a refusal, and its list in an mjSpec
_LISTS = {
    "geom": "geoms", "joint": "joints", "pair": "pairs", "tendon": "tendons", "actuator": "actuators",
    "sensor": "sensors", "equality": "equalities",
}  # fmt: skip
_KINDS = {"joint": "JOINT", "actuator": "ACTUATOR", "tendon": "TENDON", "geom": "GEOM", "sensor": "SENSOR",
          "equality": "EQUALITY", "pair": "PAIR"}  # fmt: skip


def _without_integrator(option: Any) -> bool:
    import mujoco

    simulated = (
        mujoco.mjtIntegrator.mjINT_EULER,
        mujoco.mjtIntegrator.mjINT_RK4,
        mujoco.mjtIntegrator.mjINT_IMPLICIT,
        mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
        getattr(mujoco.mjtIntegrator, "mjINT_DISCRETE", mujoco.mjtIntegrator.mjINT_EULER),
    )
    if option.integrator in [int(kind) for kind in simulated]:
        return False
    option.integrator = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    return True


def _without_noslip(option: Any) -> bool:
    found, option.noslip_iterations = option.noslip_iterations > 0, 0
    return found


def _without_flag(kind: str, name: str) -> Callable[[Any], bool]:
    """Back to the default: a flag that disables something, or enables it."""

    def clear(option: Any) -> bool:
        import mujoco

        bits = mujoco.mjtDisableBit if kind == "disable" else mujoco.mjtEnableBit
        bit = int(getattr(bits, ("mjDSBL_" if kind == "disable" else "mjENBL_") + name.upper()))
        flags = getattr(option, f"{kind}flags")
        setattr(option, f"{kind}flags", flags & ~bit)
        return bool(flags & bit)

    return clear


# words for options, and what puts each back; true where it was set
OPTIONS: dict[str, Callable[[Any], bool]] = {
    "noslip": _without_noslip,
    "integrator": _without_integrator,
    "multiccd": _without_flag("disable", "multiccd"),
    "sleep": _without_flag("enable", "sleep"),
}


def sleep_flag(mj_model: mujoco.MjModel) -> int:
    """The flag by which trees at rest sleep, where it is set; 0 where one begins asleep: that moves otherwise."""
    import mujoco

    if not hasattr(mj_model, "tree_sleep_policy"):
        return 0
    asked = int(mj_model.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    begins = int(mujoco.mjtSleepPolicy.mjSLEEP_INIT)
    return 0 if (mj_model.tree_sleep_policy == begins).any() else asked


def awake(mj_model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy in which trees at rest do not sleep: what MuJoCo has to step where it is compared."""
    import copy

    other = copy.copy(mj_model)
    other.opt.enableflags = int(other.opt.enableflags) & ~sleep_flag(other)
    return other


def _remove(spec: mujoco.MjSpec, element: Any) -> None:
    """The element, and the sensors that read it."""
    import mujoco

    name, kind = element.name, type(element).__name__
    if kind == "MjsActuator" and name:
        for sensor in [s for s in spec.sensors if s.objtype == mujoco.mjtObj.mjOBJ_ACTUATOR and s.objname == name]:
            spec.delete(sensor)
    spec.delete(element)


def _no_contact(spec: mujoco.MjSpec, geom: Any) -> None:
    geom.contype = geom.conaffinity = 0
    for pair in [p for p in spec.pairs if geom.name and geom.name in (p.geomname1, p.geomname2)]:
        spec.delete(pair)


def _zero(*names: str) -> Callable[[mujoco.MjSpec, Any], None]:
    def put(_spec: mujoco.MjSpec, element: Any) -> None:
        for name in names:
            value = getattr(element, name)
            setattr(element, name, type(value)() if not hasattr(value, "__len__") else [0.0] * len(value))

    return put


def _linear(name: str) -> Callable[[mujoco.MjSpec, Any], None]:
    """The coefficients beyond the first are left out."""

    def put(_spec: mujoco.MjSpec, element: Any) -> None:
        value = getattr(element, name)
        setattr(element, name, [value[0]] + [0.0] * (len(value) - 1))

    return put


# (words, pattern of the feature, elements, what is done): words and the feature itself name a drop
_RULES: list[tuple[tuple[str, ...], str, tuple[str, ...], Callable[[mujoco.MjSpec, Any], None]]] = [
    (("sensor",), r".*", ("sensor",), _remove),
    (("polynomial",), r"polynomial damping", ("actuator",), _linear("damping")),
    (("actuator", "delay"), r"actuator delay without samples", ("actuator",), _zero("delay")),
    (("actuator",), r".*", ("actuator",), _remove),
    (("adhesion",), r"adhesion", ("geom", "pair"), _zero("adhesion")),
    (("collision",), r".* collision", ("geom",), _no_contact),
    (("surface velocity",), r"surface velocity", ("geom",), _zero("surfacevel")),
    (("fluid",), r"ellipsoid fluid model.*", ("geom",), _zero("fluid_ellipsoid")),
    (("polynomial",), r"polynomial stiffness", ("joint", "tendon"), _linear("stiffness")),
    (("polynomial",), r"polynomial damping", ("joint", "tendon"), _linear("damping")),
    (("spring yield",), r"spring yield", ("joint", "tendon"), _zero("springyield")),
    (("equality",), r"equality .*", ("equality",), _remove),
]  # fmt: skip

WORDS = sorted({*OPTIONS, "flex", *(word for words, *_ in _RULES for word in words)})


# what a refusal of sensors and actuators begins with, beside the patterns of the rules
_FEATURES = (
    "sensor ", "contact sensor ", "rangefinder ", "distance ", "transmission ", "activation dynamics ", "gain ",
    "bias ", "several ", "dcmotor ", "pid ", "adhesion by velocity",
)  # fmt: skip


def check(drop: str | Iterable[str]) -> tuple[str, ...]:
    """The words that were given; raises where one is no word and no feature of a refusal."""
    if not isinstance(drop, Iterable):
        raise TypeError(f"drop names features, and is given {drop!r}")
    words = (drop,) if isinstance(drop, str) else tuple(drop)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"drop names features, and is given {word!r}")
        patterns = [pattern for _, pattern, *_ in _RULES if pattern != ".*"]
        if word in WORDS or word.startswith(_FEATURES) or any(re.fullmatch(p, word) for p in patterns):
            continue
        if options_word(word) is None:
            known = ", ".join(repr(w) for w in WORDS)
            raise ValueError(
                f"drop is given '{word}', and takes {known}, or the feature of a refusal as it stands there"
            )
    return words


def rule_of(feature: str, element: str) -> tuple[tuple[str, ...], Callable[[mujoco.MjSpec, Any], None]] | None:
    """The words that drop a refusal of an element, and how; None where nothing does."""
    kind = element.split(" ")[0]
    for words, pattern, kinds, action in _RULES:
        if kind in kinds and re.fullmatch(pattern, feature):
            return words, action
    return None


def options_word(feature: str) -> str | None:
    """The word that drops a refusal of an option."""
    first = feature.removeprefix("flag ").split("=")[0].split(" ")[0].removesuffix("_iterations")
    return first if first in OPTIONS else None


def words_for(problems: Problems) -> tuple[set[str], list[tuple[str, str, str]]]:
    """The words that would drop all these refusals, and the refusals that no word drops."""
    words, rest = set(), []
    for problem in problems:
        feature, element, _ = problem
        rule, option = rule_of(feature, element), options_word(feature)
        if option is not None:
            words.add(option)
        elif feature == "flex":
            words.add("flex")
        elif rule is not None:
            words.add(rule[0][0])
        else:
            rest.append(problem)
    return words, rest


def _element(spec: mujoco.MjSpec, compiled: mujoco.MjModel, label: str) -> Any:
    import mujoco

    match = _LABEL.match(label)
    if match is None or match[1] not in _LISTS:
        return None
    kind, name, number = match.groups()
    found = int(number) if number is not None else mujoco.mj_name2id(
        compiled, getattr(mujoco.mjtObj, f"mjOBJ_{_KINDS[kind]}"), name
    )  # fmt: skip
    return next((e for e in getattr(spec, _LISTS[kind]) if e.id == found), None)


def options(spec: mujoco.MjSpec, words: Iterable[str]) -> dict[str, dict[str, int]]:
    """Drops options; {feature: {}} of those that were set."""
    names = {options_word(word) for word in words}
    return {word: {} for word in OPTIONS if word in names and OPTIONS[word](spec.option)}


def elements(
    spec: mujoco.MjSpec, compiled: mujoco.MjModel, problems: Problems, words: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Drops what `words` name of the refusals: {feature: {kind of element: how many}}. `spec` was just compiled."""
    wanted = set(words)
    counts: dict[str, dict[str, int]] = {}
    done: dict[tuple[str, int, Any], Any] = {}
    for feature, label, _ in problems:
        if feature == "flex" and "flex" in wanted:
            counts[feature] = {"flex": len(spec.flexes)}
            done.update({("flex", flex.id, _remove): flex for flex in spec.flexes})
            continue
        rule = rule_of(feature, label)
        element = _element(spec, compiled, label) if rule and wanted & {*rule[0], feature} else None
        if rule is None or element is None:
            continue
        kind = label.split(" ")[0]
        of = counts.setdefault(feature, {})
        of[kind] = of.get(kind, 0) + 1
        done[kind, element.id, rule[1]] = element
    # sensors go first: those of an actuator go with it
    for (_, _, action), element in sorted(done.items(), key=lambda item: item[0][0] != "sensor"):
        action(spec, element)
    return counts


def told(counts: dict[str, dict[str, int]]) -> str:
    """What was left out: "noslip (option), sensor user (12 sensors)"."""
    parts = []
    for feature, of in counts.items():
        plural = {"equality": "equalities", "flex": "flexes"}
        many = [f"{n} {kind if n == 1 else plural.get(kind, kind + 's')}" for kind, n in of.items()]
        parts.append(f"{feature} ({', '.join(many) or 'option'})")
    return ", ".join(parts)


def spec_of(text: str | None, path: str, assets: dict[str, bytes] | None) -> mujoco.MjSpec:
    """The mjSpec of a model's text or file."""
    import mujoco

    given = assets or {}
    xml = {name: bytes(data) for name, data in given.items() if name.lower().endswith(".xml")}
    rest = {name: bytes(data) for name, data in given.items() if name not in xml}
    if text is not None:
        return mujoco.MjSpec.from_string(text, include=xml, assets=rest)
    return mujoco.MjSpec.from_file(path, include=xml, assets=rest)
