"""Training policies: rsl_rl's PPO over a batch, its settings by task, checkpoints, curves."""
