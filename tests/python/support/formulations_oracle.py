"""Clarabel as an oracle: convex quadratic and second-order cone programs, solved as far as it can."""

import clarabel
import numpy as np
from scipy import sparse

TRIES = (1e-11, 1e-9, 1e-8)


def quadratic_program(P, q, A, b, cones):
    """The x of min 1/2 x'Px + q'x subject to b - A x in the cones, and the tolerance it was solved to."""
    for tolerance in TRIES:
        options = clarabel.DefaultSettings()
        options.verbose = False
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = tolerance
        out = clarabel.DefaultSolver(sparse.triu(sparse.csc_matrix(P)).tocsc(), np.asarray(q, float), sparse.csc_matrix(A),
                                     np.asarray(b, float), cones, options).solve()
        if out.status == clarabel.SolverStatus.Solved:
            return np.array(out.x), tolerance
    raise AssertionError(f"the oracle did not solve the program: {out.status}")
