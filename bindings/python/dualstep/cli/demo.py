"""`dualstep demo`: robots that run by a policy that the package ships, in a web page."""

from __future__ import annotations

import argparse
from typing import Any

from dualstep.cli.common import CommandError, add_common, need
from dualstep.cli.view import add_viewer, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser, num_envs=16, as_json=False)
    parser.add_argument("--no-browser", action="store_true", help="serve the page, and do not open it")
    add_viewer(parser)


def main(args: argparse.Namespace) -> int:
    need("gymnasium", "view")
    if not args.native:
        need("viser", "view")
    from dualstep.envs import make, stored

    policy = stored.named("HalfCheetah")
    try:
        env = make(policy.task, args.num_envs, device=args.device, seed=args.seed, nonfinite="clamp")
    except (ImportError, TypeError, ValueError) as error:
        raise CommandError(str(error)) from None
    act = policy if env.on_host else lambda observation: policy(observation.numpy())
    title = f"{args.num_envs} half-cheetah{'' if args.num_envs == 1 else 's'}"
    return show(env, act, args, title, served=None if args.no_browser else _open_soon)


def _open_soon(address: str) -> None:
    """Opens the page in a browser, where there is one, once it is served."""
    import threading
    import webbrowser

    def opened() -> None:
        try:
            webbrowser.open(address)
        except (OSError, webbrowser.Error):
            # the address is printed, too
            pass

    timer: Any = threading.Timer(1.5, opened)
    timer.daemon = True
    timer.start()
