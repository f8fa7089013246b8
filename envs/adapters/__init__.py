"""One file for each learning library: what its environments look like, over a `BatchEnv`."""
