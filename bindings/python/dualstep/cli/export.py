"""`dualstep export CHECKPOINT`: the policy as ONNX or TorchScript, from observations to actions of the task."""

from __future__ import annotations

import argparse

from dualstep.cli.common import CommandError, a_path, add_common, add_task, need, print_json, quiet_threads

KINDS = {".onnx": "onnx", ".pt": "torchscript", ".ts": "torchscript", ".pth": "torchscript"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=a_path, metavar="CHECKPOINT", help="latest.pt of a training, or its folder")
    parser.add_argument(
        "--out", type=a_path, metavar="FILE",
        help="its ending says what it is: .onnx, or .pt for TorchScript (default: policy.onnx beside the checkpoint)",
    )  # fmt: skip
    add_task(parser)
    add_common(parser, num_envs=4)


def main(args: argparse.Namespace) -> int:
    for module in ("gymnasium", "torch", "rsl_rl"):
        need(module, "train")
    quiet_threads()
    from dualstep.envs import registry
    from dualstep.envs.training.export import export
    from dualstep.envs.training.learner import CheckpointError
    from dualstep.envs.training.runs import find_checkpoint

    checkpoint = find_checkpoint(args.checkpoint)
    out = args.out or checkpoint.with_name("policy.onnx")
    kind = KINDS.get(out.suffix.lower())
    if kind is None:
        raise CommandError(f"--out is given '{out}', and its ending must be .onnx, or .pt for TorchScript")
    if kind == "onnx":
        need("onnx", "export")
    if out.exists() and out.samefile(checkpoint):
        raise CommandError(f"--out is given '{out}', which is the checkpoint itself")
    if not out.resolve().parent.is_dir():
        raise CommandError(f"--out is given '{out}', and there is no folder '{out.parent}'")
    try:
        task = None if args.task is None else registry.find(args.task)[0]
        found = export(checkpoint, out, kind, task, num_envs=args.num_envs, seed=args.seed, trust=args.trust)
    except (CheckpointError, TypeError, ValueError, ImportError) as error:
        raise CommandError(str(error)) from None
    if args.json:
        print_json(found)
    else:
        print(f"{found['task']}: {found['file']} ({found['kind']}; {found['observations']} observations to "
              f"{found['actions']} actions, largest difference {found['difference']:.1e})")  # fmt: skip
    return 0
