"""`dualstep tasks [NAME]`: what there is to train."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from dualstep.cli.common import CommandError, add_common, need, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one task, or file.py:Class: its sizes and options too")
    add_common(parser, num_envs=1)


def main(args: argparse.Namespace) -> int:
    need("gymnasium", "envs")
    from dualstep.envs import registry

    if args.name:
        try:
            facts = details(*registry.find(args.name), args)
        except (ImportError, OSError, TypeError, ValueError) as error:
            raise CommandError(str(error)) from None
        if args.json:
            print_json(facts)
            return 0
        for name, value in facts.items():
            rows = value.items() if isinstance(value, dict) else [("", value)]
            for i, (key, entry) in enumerate(rows):
                print(f"{name if i == 0 else '':<22} {f'{key:<28} ' if key else ''}{entry}")
        return 0
    found = [summary(*registry.find(name)) for name in registry.names()]
    if args.json:
        print_json(found)
        return 0
    families = list(dict.fromkeys((*registry.FAMILIES, *(facts["family"] for facts in found))))
    family = None
    for facts in sorted(found, key=lambda facts: families.index(facts["family"])):
        if facts["family"] != family:
            family = facts["family"]
            print(f"\n{family}:")
        steps = "no limit" if facts["max_episode_steps"] is None else f"{facts['max_episode_steps']:,} steps"
        print(f"{facts['task']:<24} {steps:<12} {facts['about']}")
    print("\ndualstep train NAME trains one; dualstep tasks NAME tells its sizes and options")
    return 0


def summary(name: str, entry: Any) -> dict[str, Any]:
    from dualstep.envs import registry

    facts: dict[str, Any] = {"task": name, "family": entry.family, "max_episode_steps": entry.max_episode_steps}
    try:
        cls = registry.task_class(entry)
        # a file of one task says what it is above all
        about = (
            (vars(cls).get("__doc__") or getattr(sys.modules.get(cls.__module__), "__doc__", "") or "")
            .strip()
            .splitlines()
        )
        facts["about"] = about[0] if about else ""
    except ImportError as error:
        facts["about"] = f"cannot be imported: {error}"
    return facts


def details(name: str, entry: Any, args: argparse.Namespace) -> dict[str, Any]:
    import inspect

    from dualstep.envs import make, registry

    cls = registry.task_class(entry)
    env = make(name, args.num_envs, device=args.device, num_threads=1)
    task, spaces = env.task, (env.single_observation_space, env.single_action_space)
    env.close()
    signature = inspect.signature(cls.__init__).parameters
    return {
        **summary(name, entry),
        "observation": env.groups or sum(spaces[0].shape or ()),
        "action": sum(spaces[1].shape or ()),
        "seconds of a step": task.dt,
        "reward_threshold": entry.reward_threshold,
        "options": {option: _plain(signature[option].default) for option in cls.options()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, str, bool)) and value == value and value not in (float("inf"), -float("inf")):
        return value
    return None if value is None else str(value)
