"""Worked examples that run: `python -m dualstep.envs.examples.<name>`."""
