"""A live web page of some environments of a batch: play, pause, step, reset, contact forces, the reward.

Bodies are placed by MuJoCo's kinematics from `qpos`, so that what is seen is the present state wherever the batch
lives; environments stand in a square, and with "Follow" stay there. Only those that are shown cost anything but their
simulation. Joints have sliders, and actuators where nobody else controls them.
"""

from __future__ import annotations

import html
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import viser
from viser import uplot

from dualstep._arrays import host
from dualstep._names import actuators_of_controls
from dualstep.viewer.guard import same_origin
from dualstep.viewer.shapes import floor_of, parts_of

FRAMES_PER_SECOND = 30
PLOTTED = 400
MOST = 64
SECTION = 2.5
FORCE_COLOUR = (220, 60, 30)
FIELD_OF_VIEW = math.radians(60)
MOST_SLIDERS = 48
# touches the title of the panel, once
CLOSE_IF_NARROW = """if(innerWidth<600&&!window.panelClosed){window.panelClosed=1;
this.closest('.mantine-Paper-root')?.querySelector('[style*="cursor: pointer"]')?.click()}"""
HINGE, SLIDE = 3, 2


def chosen(text: str, count: int) -> list[int]:
    """"0-3, 8" as numbers below `count`, at most MOST of them; ValueError where it says nothing of the kind."""
    found: list[int] = []
    for word in text.replace(",", " ").split():
        first, dash, last = word.partition("-")
        try:
            named = range(int(first), int(last if dash else first) + 1)
        except ValueError:
            raise ValueError(f"{word!r} is given, and numbers of environments are wanted, as in '0-3, 8'") from None
        for env in named:
            if not 0 <= env < count:
                raise ValueError(f"environment {env} is asked for, of 0 to {count - 1}")
            if env not in found:
                found.append(env)
    if not found:
        raise ValueError("no environment is named")
    return found[:MOST]


def spoken(count: int, thing: str) -> str:
    """1 environment, 1,024 environments"""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


class Viewer:
    """Serves the page; `run` steps the environments in real time until it is told to end."""

    def __init__(
        self,
        env: Any,
        act: Callable[[Any], Any],
        *,
        title: str = "",
        host: str = "127.0.0.1",
        port: int = 8080,
        seed: int = 0,
        controls: np.ndarray | None = None,
    ) -> None:
        self.env, self.act, self.seed = env, act, seed
        self.controls = controls  # (num_envs, k) what `act` gives, to be moved by sliders; None: a policy's
        self._model = env.task.drawn
        self._data = mujoco.MjData(self._model)
        self._lock = threading.Lock()
        self.playing, self._steps_asked, self._reset_asked = True, 0, False
        self.shown = list(range(min(env.num_envs, 16)))
        self._returns = np.zeros(env.num_envs)
        self._ended: deque[float] = deque(maxlen=100)
        self._rewards: deque[tuple[float, float]] = deque(maxlen=PLOTTED)
        self.steps = 0
        self._observation, _ = env.reset(seed=seed)
        self._away = np.zeros((MOST, 3))
        self._drawn = self._told_at = 0.0
        self._spread, self._height = self._size()
        with same_origin(host):
            self.server = viser.ViserServer(host=host, port=port, verbose=False)
        self.port = self.server.get_port()
        self._build_scene()
        self._build_panel(title)
        self._draw()

    # the scene ---------------------------------------------------------------------------------------------

    def _size(self) -> tuple[float, float]:
        """How far apart environments stand, the width of the figure and some air; and how high its middle is."""
        self._place(0)
        moving = np.asarray(self._model.body_weldid) > 0
        points = self._data.xipos[moving] if moving.any() else self._data.xipos
        reach = max(float(np.ptp(points, axis=0).max()), 0.4)
        return 1.7 * reach, float(points[:, 2].mean())

    def _place(self, env: int) -> None:
        self._data.qpos[:] = host(self.env.sim.qpos)[env]
        if self._model.nmocap:
            self._data.mocap_pos[:] = host(self.env.sim.mocap_pos)[env]
            self._data.mocap_quat[:] = host(self.env.sim.mocap_quat)[env]
        mujoco.mj_kinematics(self._model, self._data)

    def _build_scene(self) -> None:
        scene = self.server.scene
        scene.set_up_direction("+z")
        scene.configure_environment_map(environment_intensity=0.4)
        start = self.server.initial_camera
        start.fov = FIELD_OF_VIEW
        start.position, start.look_at = self.camera()
        floor = floor_of(self._model)
        self._floor = None
        if floor is not None:
            self._floor = scene.add_grid(
                "/floor", infinite_grid=True, cell_size=0.5, section_size=SECTION, position=(0, 0, floor),
                plane_color=(226, 230, 235), plane_opacity=1.0, fade_distance=60, shadow_opacity=0.35,
            )  # fmt: skip
        self._forces = None
        self._meshes: list[tuple[int, Any]] = []
        self._parts = parts_of(self._model)
        self._populate()

    def _populate(self) -> None:
        for _, mesh in self._meshes:
            mesh.remove()
        count = len(self.shown)
        still = np.tile([1.0, 0, 0, 0], (count, 1)).astype(np.float32), np.zeros((count, 3), np.float32)
        self._meshes = [
            (
                part.body,
                self.server.scene.add_batched_meshes_simple(
                    f"/bodies/{i}", part.vertices.astype(np.float32), part.faces.astype(np.uint32), *still,
                    batched_colors=part.rgb, opacity=None if part.opacity >= 1 else part.opacity, lod="off",
                    side="double", receive_shadow=False,
                ),
            )
            for i, part in enumerate(self._parts)
        ]  # fmt: skip

    def _square(self) -> tuple[int, int]:
        """Rows and columns that hold all that is shown."""
        columns = math.ceil(math.sqrt(len(self.shown)))
        return math.ceil(len(self.shown) / columns), columns

    def camera(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """The first look, from ahead and above: where from and where to, so that a square picture has all of them."""
        rows, columns = self._square()
        # of the nearest row, which is the widest in the picture
        away = 0.5 * (columns + 0.6) * self._spread / math.tan(FIELD_OF_VIEW / 2) + 0.5 * rows * self._spread
        height = self._height + (0.35 if rows == 1 else 0.6) * away
        return (away, -0.15 * away, height), (0.0, 0.0, 0.8 * self._height)

    def _shift(self, place: int) -> np.ndarray:
        """From where an environment is to where it is shown."""
        rows, columns = self._square()
        row, column = divmod(place, columns)
        return self._spread * np.array([(rows - 1) / 2 - row, column - (columns - 1) / 2, 0]) - self._away[place]

    def _draw(self) -> None:
        count, bodies = len(self.shown), self._model.nbody
        position, turn = np.empty((bodies, count, 3), np.float32), np.empty((bodies, count, 4), np.float32)
        for place, env in enumerate(self.shown):
            self._place(env)
            if self._follows.value:
                # figures stay where they stand, their worlds go by, and cameras are where people put them
                self._away[place, :2] = self._data.xpos[min(1, bodies - 1), :2]
            position[:, place] = self._data.xpos + self._shift(place)
            turn[:, place] = self._data.xquat
        with self.server.atomic():
            if self._floor is not None:
                # that of the first; the same lines, wherever
                self._floor.position = (*-np.mod(self._away[0, :2], SECTION), self._floor.position[2])
            for body, mesh in self._meshes:
                mesh.batched_positions, mesh.batched_wxyzs = position[body], turn[body]
            self._draw_forces()

    def _newtons(self) -> float:
        """What a metre of an arrow is: the weight of all bodies is 0.3 of the way between two figures."""
        return float(self._model.body_mass.sum()) * 9.81 / (0.3 * self._spread)

    def _draw_forces(self) -> None:
        arrows = self.forces() if self._show_forces.value else np.zeros((0, 2, 3), np.float32)
        if len(arrows) == 0:
            if self._forces is not None:
                self._forces.visible = False
            return
        if self._forces is None:
            width = 0.01 * self._spread
            self._forces = self.server.scene.add_arrows(
                "/forces", arrows, FORCE_COLOUR, shaft_radius=width, head_radius=2.5 * width, head_length=5 * width
            )
        self._forces.points, self._forces.visible = arrows, True

    def forces(self) -> np.ndarray:
        """(k, 2, 3) an arrow for each contact force of those that are shown, from where it acts to where it points."""
        contacts = self.env.sim.contacts()
        count, pos, frame, force = (
            host(x)[self.shown] for x in (contacts.count, contacts.pos, contacts.frame, contacts.force)
        )
        arrows = []
        newtons = self._newtons()
        for place in range(len(self.shown)):
            some = slice(0, int(count[place]))
            start = pos[place, some] + self._shift(place)
            along = np.einsum("kij,ki->kj", frame[place, some], force[place, some, :3]) / newtons
            # from the ground up: the force is that on the second geom, which may be the ground
            along *= np.where(along[:, 2:] < 0, -1, 1)
            seen = np.linalg.norm(along, axis=1) > 1e-3 * self._spread
            arrows.append(np.stack([start[seen], (start + along)[seen]], axis=1))
        return np.concatenate(arrows).astype(np.float32)

    # the panel ---------------------------------------------------------------------------------------------

    def _build_panel(self, title: str) -> None:
        gui = self.server.gui
        gui.set_panel_label("dualstep")
        if hasattr(gui, "main_panel"):
            gui.configure_theme(control_width="medium", show_logo=False)
            gui.main_panel.dock_right()
        else:
            gui.configure_theme(control_layout="fixed", control_width="medium", show_logo=False)
        gui.add_markdown(f"**{title}**  \n{spoken(self.env.num_envs, 'environment')}, {self.env.sim.description}")
        # the page has no other way to name its tab, or to close the panel of a phone, which lies over the figures
        name = f"document.title={json.dumps(f'{title} - dualstep' if title else 'dualstep')};"
        gui.add_html(f'<img src="data:," alt="" style="display:none" onerror="{html.escape(name + CLOSE_IF_NARROW)}">')
        self._told = gui.add_markdown("")
        self._play = gui.add_button("Pause")
        self._step = gui.add_button("Step")
        self._restart = gui.add_button("Reset")
        self._speed = gui.add_slider("Speed", min=0.1, max=4.0, step=0.1, initial_value=1.0)
        several = f"0-{len(self.shown) - 1}" if len(self.shown) > 1 else "0"
        self._choice = gui.add_text("Environments", initial_value=several, visible=self.env.num_envs > 1)
        self._show_forces = gui.add_checkbox("Contact forces", initial_value=False)
        self._follows = gui.add_checkbox("Follow", initial_value=True)
        self._build_keyframes()
        self._build_joints()
        self._build_controls()
        self._plot = None
        if getattr(self.env.task, "rewarded", True):
            self._build_plot()
        self._react()

    def _build_plot(self) -> None:
        empty = np.zeros(2)
        self._plot = self.server.gui.add_uplot(
            (np.array([0.0, 1.0]), empty),
            (uplot.Series(label="time [s]"), uplot.Series(label="reward", stroke="#1f6f8b", width=2)),
            title="Reward of a step, mean of those shown", scales={"x": {"time": False}}, aspect=1.6,
        )  # fmt: skip

    def _build_keyframes(self) -> None:
        """A choice of the model's keyframes, where it has some."""
        model = self.env.sim.model
        names = [model.name_of("key", k) for k in range(model.nkey)]
        if not names:
            return
        self._keyframe = self.server.gui.add_dropdown("Keyframe", ("", *names), initial_value="")

        @self._keyframe.on_update
        def _(_: Any) -> None:
            if self._keyframe.value in names:
                self.go_to(names.index(self._keyframe.value))

    def go_to(self, keyframe: int) -> None:
        """Puts all environments that are shown to a keyframe, and stops time."""
        with self._lock:
            self.pause(True)
            sim = self.env.sim
            mask = np.zeros(self.env.num_envs, bool)
            mask[self.shown] = True
            sim.reset(mask, keyframe)
            if self.controls is not None and self.controls.shape == tuple(sim.ctrl.shape):
                self.controls[mask] = host(sim.ctrl)[mask]
            self._draw()

    def _build_joints(self) -> None:
        """A slider for each hinge and slide: it moves the joint in all environments that are shown, and stops time."""
        m = self._model
        chosen_ = [j for j in range(m.njnt) if m.jnt_type[j] in (HINGE, SLIDE)][:MOST_SLIDERS]
        self._joints: list[tuple[int, Any]] = []
        if not chosen_:
            return
        qpos = host(self.env.sim.qpos)[self.shown[0]]
        with self.server.gui.add_folder("Joints", expand_by_default=False):
            for j in chosen_:
                address = int(m.jnt_qposadr[j])
                reach = math.pi if m.jnt_type[j] == HINGE else 1.0
                low, high = m.jnt_range[j] if m.jnt_limited[j] else (-reach, reach)
                slider = self._slider(m.joint(j).name or f"joint {j}", float(low), float(high), float(qpos[address]))
                self._joints.append((address, slider))
                slider.on_update(self._mover(address, int(m.jnt_dofadr[j])))

    def _slider(self, name: str, low: float, high: float, value: float) -> Any:
        step = max((high - low) / 200, 1e-6)
        value = min(max(value, low), high)
        return self.server.gui.add_slider(name, min=low, max=high, step=step, initial_value=value)

    def _mover(self, address: int, dof: int) -> Callable[[Any], None]:
        def moved(event: Any) -> None:
            # those that the page itself moved follow the simulation
            if event.client is not None:
                self.move(address, dof, float(event.target.value))

        return moved

    def move(self, address: int, dof: int, value: float) -> None:
        """Puts a joint of all environments that are shown somewhere, at rest, and stops time."""
        with self._lock:
            self.pause(True)
            sim = self.env.sim
            qpos, qvel = np.array(host(sim.qpos)), np.array(host(sim.qvel))
            qpos[self.shown, address], qvel[self.shown, dof] = value, 0
            sim.qpos, sim.qvel = qpos, qvel

    def _build_controls(self) -> None:
        """A slider for each control, where no policy has them."""
        if self.controls is None or self.controls.shape[1] == 0:
            return
        space, m = self.env.single_action_space, self._model
        owners = actuators_of_controls(m)
        with self.server.gui.add_folder("Actuators", expand_by_default=not self._joints):
            for k in range(min(self.controls.shape[1], MOST_SLIDERS)):
                low, high = float(space.low[k]), float(space.high[k])
                low, high = (low, high) if math.isfinite(low) and math.isfinite(high) else (-1.0, 1.0)
                name = m.actuator(owners[k]).name if m.nu == self.controls.shape[1] else ""
                slider = self._slider(name or f"actuator {k}", low, high, float(self.controls[0, k]))
                slider.on_update(self._driver(k))

    def _driver(self, k: int) -> Callable[[Any], None]:
        def driven(event: Any) -> None:
            assert self.controls is not None
            self.controls[:, k] = event.target.value

        return driven

    def _react(self) -> None:
        """What buttons and fields do."""

        @self._play.on_click
        def _(_: Any) -> None:
            self.pause(self.playing)

        @self._step.on_click
        def _(_: Any) -> None:
            self.pause(True)
            self._steps_asked += 1

        @self._restart.on_click
        def _(_: Any) -> None:
            self._reset_asked = True

        @self._choice.on_update
        def _(_: Any) -> None:
            try:
                self.show(chosen(self._choice.value, self.env.num_envs))
            except ValueError as error:
                self._complain(str(error))

    def _complain(self, what: str) -> None:
        for client in self.server.get_clients().values():
            client.add_notification("Environments", what, color="red", auto_close_seconds=5)

    def pause(self, still: bool) -> None:
        self.playing = not still
        self._play.label = "Pause" if self.playing else "Play"

    def show(self, envs: list[int]) -> None:
        """Shows these environments."""
        with self._lock:
            self.shown = envs
            self._populate()
            if self._forces is not None:
                self._forces.remove()
                self._forces = None
            self._draw()

    def _tell(self) -> None:
        told = [f"time {self.steps * self.env.task.dt:.1f} s"]
        if self._plot is not None:
            ended = self._ended
            recent = f"{np.mean(ended):.1f} (of {spoken(len(ended), 'episode')})" if ended else "none yet"
            told.append(f"return {recent}")
        if self._show_forces.value:
            told.append(f"1 m of an arrow is {self._newtons():.3g} N")
        if self.env.diverged_count:
            told.append(f"{self.env.diverged_count} diverged")
        self._told.content = ", ".join(told)
        qpos = host(self.env.sim.qpos)[self.shown[0]]
        for address, slider in self._joints:
            value = min(max(float(qpos[address]), slider.min), slider.max)
            if self.playing and abs(slider.value - value) > slider.step:
                slider.value = value
        if self._plot is not None and len(self._rewards) > 1:
            x, y = np.array(self._rewards).T
            self._plot.data = (x, y)

    # running -----------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """One step of all environments."""
        observation, reward, terminated, truncated, _ = self.env.step(self.act(self._observation))
        self._observation = observation
        reward, done = host(reward), host(terminated) | host(truncated)
        self.steps += 1
        self._returns += reward
        self._ended.extend(self._returns[done].tolist())
        self._returns[done] = 0
        self._rewards.append((self.steps * self.env.task.dt, float(reward[self.shown].mean())))

    def restart(self) -> None:
        self._observation, _ = self.env.reset(seed=self.seed)
        self._returns[:] = 0
        self.steps = 0
        self._rewards.clear()

    def run(self, seconds: float | None = None) -> None:
        """Until `seconds` of wall clock are over, or for ever."""
        began = time.monotonic()
        due = began
        while seconds is None or time.monotonic() - began < seconds:
            now = time.monotonic()
            with self._lock:
                if self._reset_asked:
                    self._reset_asked = False
                    self.restart()
                if self.playing and now >= due:
                    self.advance()
                    # behind by more than a few steps: the machine is slower than real time
                    due = max(due + self.env.task.dt / self._speed.value, now - 0.1)
                elif self._steps_asked:
                    self._steps_asked -= 1
                    self.advance()
                if now - self._drawn > 1 / FRAMES_PER_SECOND:
                    self._draw()
                    self._drawn = now
                if now - self._told_at > 0.25:
                    self._tell()
                    self._told_at = now
            wait = min(due if self.playing else now + 0.02, self._drawn + 1 / FRAMES_PER_SECOND) - time.monotonic()
            time.sleep(min(max(wait, 0.001), 0.05))

    def close(self) -> None:
        self.server.stop()
