"""Measuring: a workload of random actions, its accuracy against a converged solution, its speed beside a peer."""
