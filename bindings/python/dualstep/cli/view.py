"""`dualstep view MODEL`: a model, or a task, moving in a web page (viser), or in MuJoCo's own viewer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from dualstep.cli.common import CommandError, add_common, find_model, load_model, need, port, positive_number


def add_viewer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=port, default=8080, metavar="P", help="of the web page (default: %(default)s)")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="0.0.0.0 shows it to others (default: %(default)s)"
    )
    parser.add_argument("--native", action="store_true", help="open MuJoCo's viewer instead of a web page")
    parser.add_argument("--for", type=positive_number, dest="duration", metavar="S", help="end after so many seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL",
        help="a file of MJCF or URDF, the name of one of Gymnasium's models (humanoid), or a task (Ant, file.py:Class)",
    )  # fmt: skip
    add_common(parser, num_envs=None, as_json=False)
    parser.add_argument("--random", action="store_true", help="random controls, instead of none")
    add_viewer(parser)


def main(args: argparse.Namespace) -> int:
    # all that a page needs is one extra
    need("gymnasium", "view")
    if not args.native:
        need("viser", "view")
    from dualstep.envs import registry

    task = None
    if not args.model.endswith((".xml", ".urdf")):
        try:
            task = registry.find(args.model)[0]
        except (TypeError, ValueError) as error:
            if ":" in args.model:
                raise CommandError(str(error)) from None
    if task is not None:
        from dualstep.envs import make

        try:
            env = make(task, args.num_envs or 4, device=args.device, seed=args.seed, nonfinite="clamp")
        except (ImportError, TypeError, ValueError) as error:
            raise CommandError(str(error)) from None
    else:
        from dualstep.viewer.plain import plain_env

        env = plain_env(load_model(find_model(args.model)), args.num_envs or 1, args.device, args.seed)
    controls = None
    if args.random:
        env.action_space.seed(args.seed)
        act: Callable[[Any], Any] = lambda _: env.action_space.sample().clip(-1, 1)
    else:
        import numpy as np

        zero = np.clip(0, *(bound.astype(np.float32) for bound in (env.action_space.low, env.action_space.high)))
        controls = np.array(zero)
        act = lambda _: controls
    return show(env, act, args, args.model, controls)


def why_taken(host: str, port: int) -> str | None:
    """Why no page can be served there; viser would take the next port without a word."""
    import socket

    if port == 0:
        return None
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return (error.strerror or str(error)).lower()
    return None


def address(host: str, port: int) -> str:
    """Of the page; addresses of IPv6 stand in brackets."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def show(
    env: Any, act: Callable[[Any], Any], args: argparse.Namespace, title: str, controls: Any = None,
    served: Callable[[str], None] | None = None,
) -> int:  # fmt: skip
    """Runs the viewer until it is closed, or `--for` is over; `served` is told the page's address."""
    if args.native:
        from dualstep.viewer import native

        try:
            native.run(env, act, seed=args.seed, seconds=args.duration)
        except (ImportError, RuntimeError) as error:
            raise CommandError(f"MuJoCo's viewer cannot be opened: {error}", status=1) from None
        return 0
    need("viser", "view")
    from dualstep.viewer.web import Viewer

    taken = why_taken(args.host, args.port)
    if taken:
        raise CommandError(f"the web page cannot be served on {args.host}:{args.port}: {taken}; "
                           "--port 0 takes any that is free", status=1)  # fmt: skip
    try:
        viewer = Viewer(env, act, title=title, host=args.host, port=args.port, seed=args.seed,
                        controls=controls)  # fmt: skip
    except OSError as error:
        raise CommandError(f"the web page cannot be served on {args.host}:{args.port}: {error}", status=1) from None
    page = address(args.host, viewer.port)
    print(f"{title}: {page}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
    if served is not None:
        served(page)
    try:
        viewer.run(args.duration)
    except KeyboardInterrupt:
        pass
    finally:
        viewer.close()
    return 0
