"""Models: MuJoCo compiles MJCF and URDF, dualstep takes the compiled arrays by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep import _core, _drop, _loading
from dualstep._arrays import integer
from dualstep._fields import ModelFields
from dualstep._names import hint, missing, public
from dualstep.errors import InvalidModelError, UnsupportedModelError

if TYPE_CHECKING:
    import mujoco


def _read(source: Any, names: list[str]) -> dict[str, Any]:
    """The attributes that this version of MuJoCo has."""
    return {name: getattr(source, name) for name in names if hasattr(source, name)}


def _options_of(mj_model: mujoco.MjModel) -> dict[str, Any]:
    """The options, without sleep where a warning says so."""
    options = _read(mj_model.opt, _core.model_option_names())
    if asked := _drop.sleep_flag(mj_model):
        options["enableflags"] = int(options["enableflags"]) & ~asked
    return options


def _fields(model: Model, letter: str) -> dict[str, np.ndarray]:
    """Copies of the arrays of one kind."""
    found = {name: model.field(name) for name in _core.model_field_names(letter)}
    return {name: np.array(array) for name, array in found.items() if array is not None}


def _restore(
    cls: type[Model],
    raw: dict[str, Any],
    options: dict[str, Any],
    restitutions: list[tuple[int, int, float]],
    prescribed: list[tuple[int, float, float, float, float]],
    mj_model: mujoco.MjModel,
) -> Model:
    """A model as it was pickled."""
    model = cls(raw)
    model.mj_model = mj_model
    return _set(model, options, restitutions, prescribed)


def _set(model: Model, options: dict[str, Any], restitutions: Any, prescribed: Any) -> Model:
    for name, value in options.items():
        setattr(model.opt, name, value)
    for pair in restitutions:
        model._set_restitution(*pair)
    for motion in prescribed:
        model._prescribe_velocity(*motion)
    return model


_OPTIONS = tuple(name for name in vars(_core.Options) if isinstance(vars(_core.Options)[name], property))


class Model(_core.Model, ModelFields):
    """A compiled model: sizes, options (`opt`), and MuJoCo's model arrays as read-only numpy views.

    Made by `from_mjcf` or `from_mujoco`. `mj_model` is the `mujoco.MjModel` it was taken from.
    """

    mj_model: mujoco.MjModel

    @classmethod
    def from_mjcf(
        cls,
        source: str | os.PathLike[str],
        assets: dict[str, bytes] | None = None,
        *,
        root: str | os.PathLike[str] | None = None,
        drop: str | Iterable[str] = (),
    ) -> Model:
        """Compiles a file, or a string, of MJCF or URDF; `assets` holds files that it names.

        `drop`: what the model is loaded without, where it is not simulated: features as refusals name them
        ("transmission body"), or "noslip", "integrator", "sensor", "actuator", "collision", ... for all of a kind. A
        UserWarning says what was left out, with counts.

        `root`: the folder below which all files that it names must lie; of a string, where none is given, the current
        folder. DUALSTEP_LOAD_BODIES, _GEOMS, _KEYS and _ELEMENTS limit how large a model may be, and where
        DUALSTEP_LOAD_SECONDS or DUALSTEP_LOAD_MEGABYTES is set, a child compiles it within that. Ctrl-C is heard at
        once; it ends the child, while MuJoCo's compiler in this process goes on to its end, unseen. Raises
        FileNotFoundError, InvalidModelError (with MuJoCo's message and line), UnsupportedModelError.
        """
        import mujoco

        if not isinstance(source, (str, os.PathLike)):
            other = ": Model.from_mujoco takes it" if hasattr(source, "body_parentid") else ""
            raise TypeError(f"from_mjcf takes a path or a string of XML, and is given {type(source).__name__}{other}")
        text = source if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<") else None
        if text is None and not os.path.isfile(source):
            raise FileNotFoundError(f"there is no model file '{os.fspath(source)}', and it is no XML either")
        if text is None and os.fspath(source).endswith(".mjb"):
            raise ValueError("binary models are not read: load it with MuJoCo, then Model.from_mujoco")
        text = None if text is None else text.lstrip("\ufeff \t\r\n")
        words = _drop.check(drop)
        below = Path(os.getcwd() if root is None and text is not None else root or "/").resolve()
        try:
            _loading.look(text, None if text is not None else Path(source), assets, below)
            if _loading.limited():
                kind = "path" if text is None else "text"
                compiled = _loading.in_child(kind, os.fspath(source) if text is None else text, assets)
            elif text is not None:
                compiled = _loading.in_thread(lambda: mujoco.MjModel.from_xml_string(text, assets))
            else:
                compiled = _loading.in_thread(lambda: mujoco.MjModel.from_xml_path(os.fspath(source), assets))
        except (ValueError, RuntimeError, mujoco.FatalError) as error:
            where = "" if text is not None else f"{os.fspath(source)}: "
            if isinstance(error, RuntimeError) and "unknown exception" in str(error):
                where += "MuJoCo's compiler ends with an exception that it says nothing of: "
            raise InvalidModelError(where + str(error)) from None
        return cls._without(words, text, os.fspath(source), assets) if words else cls._taken_over(compiled, 3)

    @classmethod
    def _without(cls, words: tuple[str, ...], text: str | None, path: str, assets: dict[str, bytes] | None) -> Model:
        """The model without what `words` name; it compiles with it."""
        spec = _drop.spec_of(text, path, assets)
        counts = _drop.options(spec, words)
        compiled = _loading.in_thread(spec.compile)
        while True:
            try:
                model = cls._taken_over(compiled, 4)
                break
            except UnsupportedModelError as error:
                left_out = _drop.elements(spec, compiled, error.problems, words)
                if not left_out:
                    raise
                for feature, of in left_out.items():
                    counts.setdefault(feature, of)
                compiled = _loading.in_thread(spec.compile)
        if counts:
            where = "the model" if text is not None else path
            warnings.warn(where + _drop.SAID + _drop.told(counts), UserWarning, stacklevel=3)
        return model

    @classmethod
    def from_mujoco(cls, mj_model: mujoco.MjModel) -> Model:
        """Takes over a compiled `mujoco.MjModel`; later changes to it are not seen."""
        return cls._taken_over(mj_model, 3)

    @classmethod
    def _taken_over(cls, mj_model: mujoco.MjModel, level: int) -> Model:
        """`from_mujoco`; `level` is the warning's, from here."""
        if not (hasattr(mj_model, "opt") and hasattr(mj_model, "body_parentid")):
            raise TypeError(f"from_mujoco takes a mujoco.MjModel, and is given {type(mj_model).__name__}")
        _loading.check_sizes({"bodies": mj_model.nbody, "geoms": mj_model.ngeom, "keys": mj_model.nkey})
        model = cls(
            {
                "sizes": _read(mj_model, _core.model_size_names()),
                "ints": _read(mj_model, _core.model_field_names("I")),
                "reals": _read(mj_model, _core.model_field_names("R")),
                "option": _options_of(mj_model),
                "names": mj_model.names,
                "text": mj_model.text_data,
            }
        )
        model.mj_model = mj_model
        for deprecated in model.deprecations:
            warnings.warn(deprecated, DeprecationWarning, stacklevel=level)
        if mj_model.opt.noslip_iterations > 0:
            warnings.warn(_drop.NOSLIP.format(n=mj_model.opt.noslip_iterations), UserWarning, stacklevel=level)
        if _drop.sleep_flag(mj_model):
            warnings.warn(_drop.SLEEP, UserWarning, stacklevel=level)
        return model

    @classmethod
    def named(cls, name: str) -> Model:
        """A model that the package ships, or one of Gymnasium's where it is installed; `names()` lists them."""
        from dualstep._models import path_of

        return cls.from_mjcf(path_of(name))

    @staticmethod
    def names() -> list[str]:
        """What `named` knows here."""
        from dualstep._models import named_models

        return list(named_models())

    if not TYPE_CHECKING:  # the stub of ModelFields has their names

        def __getattr__(self, name: str) -> np.ndarray:
            array = None if name.startswith("__") else self.field(name)
            if array is None:
                raise missing(self, "a model", name)
            return array

    def __reduce__(self) -> tuple[Any, ...]:
        raw = {
            "sizes": {name: int(getattr(self, name)) for name in _core.model_size_names() if hasattr(self, name)},
            **{kind: _fields(self, letter) for kind, letter in (("ints", "I"), ("reals", "R"))},
            "option": _options_of(self.mj_model),
            "names": self.mj_model.names,
            "text": self.mj_model.text_data,
        }
        return _restore, (type(self), raw, *self._settings(), self.mj_model)

    def _settings(self) -> tuple[dict[str, Any], Any, Any]:
        """Options, restitutions and prescribed velocities: what a model has beside MuJoCo's arrays."""
        options = {name: getattr(self.opt, name) for name in _OPTIONS}
        options = {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in options.items()}
        return options, self._restitutions(), self._prescribed()

    def with_arrays_of(self, mj_model: mujoco.MjModel) -> Model:
        """A model of these arrays with the options, restitutions and prescribed velocities of this one: of a changed
        copy of its `mj_model`, for example."""
        return _set(type(self)._taken_over(mj_model, 3), *self._settings())

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "mj_model" and not hasattr(type(self), name):
            if self.field(name) is None:
                raise AttributeError(f"a model has no '{name}' to set{hint(name, public(self))}")
            raise AttributeError(
                f"'{name}' is read-only: Batch.set_parameter changes it for environments, and a changed "
                "mujoco.MjModel, through Model.from_mujoco, for all"
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_core.model_field_names("I"), *_core.model_field_names("R")]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={getattr(self, name)}" for name in ("nq", "nv", "nu", "nbody", "ngeom"))
        return f"Model({sizes})"

    def copy(self) -> Model:
        """An independent model, options and restitutions included."""
        other = type(self)(self)
        other.mj_model = self.mj_model
        return other

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, _memo: dict[int, Any]) -> Model:
        return self.copy()

    def geom_id(self, geom: int | str) -> int:
        """The id of a geom given by its id or name."""
        if isinstance(geom, str):
            found = self.id_of("geom", geom)
            if found < 0:
                raise ValueError(f"the model has no geom '{geom}'")
            return found
        geom = integer("geom", geom)
        if not 0 <= geom < self.ngeom:
            raise ValueError(f"geom {geom} is given, and the model has geoms 0 to {self.ngeom - 1}")
        return geom

    def set_restitution(self, geom1: int | str, geom2: int | str, restitution: float) -> None:
        """Restitution of one pair of geoms, by id or name, from 0 to 1, instead of `opt.restitution`."""
        if not 0 <= restitution <= 1:
            raise ValueError(f"restitution {restitution} is given, and it must be from 0 to 1")
        self._set_restitution(self.geom_id(geom1), self.geom_id(geom2), float(restitution))

    def prescribe_velocity(
        self, joint: int | str, offset: float, amplitude: float = 0.0, frequency: float = 0.0, phase: float = 0.0
    ) -> None:
        """Makes a hinge or slide move at `offset + amplitude cos(frequency t + phase)`, as a hard constraint.

        `opt.equality_alpha` is the rate at which a deviation decays (0.1/h where it is None).
        """
        found = self.id_of("jnt", joint) if isinstance(joint, str) else integer("joint", joint)
        if not 0 <= found < self.njnt:
            raise ValueError(f"joint {joint!r} is given, and the model has no such joint")
        self._prescribe_velocity(found, float(offset), float(amplitude), float(frequency), float(phase))
