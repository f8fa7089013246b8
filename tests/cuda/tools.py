"""NVIDIA's binary tools and what the kernels' build left behind, for the checks beside this file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "cuobjdump": "nvidia-cuda-cuobjdump",
    "nvdisasm": "nvidia-cuda-nvdisasm",
    "nvcc": "nvidia-cuda-nvcc",
    "c++filt": "binutils",
    "nm": "binutils",
}


class MissingTool(Exception):
    pass


def tool(name: str) -> str:
    """The program, from the toolkit on PATH or from the wheel that carries it."""
    found = shutil.which(name) or next(
        (
            str(path)
            for site in {sysconfig.get_path("purelib"), *sys.path}
            if site
            for path in sorted(Path(site).glob(f"nvidia/cu*/bin/{name}"))
        ),
        None,
    )
    if not found:
        raise MissingTool(f"{name} is not here; it comes with the CUDA toolkit, or as the package {PACKAGES[name]}")
    return found


def output(*command: str | Path) -> str:
    """What a program prints; its own complaint if it fails."""
    # the disassembler is a program that cuobjdump looks for on PATH
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise RuntimeError(f"{Path(str(command[0])).name} failed: {done.stderr.strip()}")
    return done.stdout


def disassembled(code: bytes) -> str:
    """A file of machine code as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.cubin"
        path.write_bytes(code)
        return output(tool("cuobjdump"), "-sass", path)


def demangle(names: list[str]) -> dict[str, str]:
    done = subprocess.run([tool("c++filt")], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines(), strict=True))


def short(name: str) -> str:
    """fused_step<float, 8, 3>, of a demangled kernel or stage."""
    name = re.sub(r"\bdualstep::(cuda::)?", "", name)
    depth, end = 0, len(name)
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            end = i
            break
    return re.sub(r"^(void|bool|auto) ", "", name[:end]).strip()


def objects(build: Path) -> list[Path]:
    """The objects of the kernels in a build folder."""
    found = sorted((build / "cuda").glob("launch_*.o"))
    if not found:
        raise FileNotFoundError(f"{build}/cuda has no launch_*.o: build with -DDUALSTEP_CUDA=ON first")
    return found


def nvcc_version() -> str:
    said = output(tool("nvcc"), "--version")
    match = re.search(r"V(\d+\.\d+\.\d+)", said)
    if not match:
        raise RuntimeError(f"nvcc says no version: {said}")
    return match.group(1)
