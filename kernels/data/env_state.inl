// What the lanes of an environment agree on while a step runs, and what a part of the step hands on to the next:
// one row makes the member of Env and its copy between parts (kernels/launch/staged.h).
//
//   ENV_STATE(type, name, meaning)   Int, Mask and Real are those of the environment
//   COLLIDED(type, name, meaning)    likewise, known once it has collided: a snapshot (kernels/launch/cpu/regroup.h) has a
//                                    number of it for each environment; no Real
#ifndef ENV_STATE
#define ENV_STATE(type, name, meaning)
#endif
#ifndef COLLIDED
#define COLLIDED(type, name, meaning) ENV_STATE(type, name, meaning)
#endif
COLLIDED(Int, ncon, "contacts of each environment")
COLLIDED(Int, ncon_needed, "and as many as it would have with a slot for each")
ENV_STATE(int, ncon_max, "the most of any environment of the pack")
COLLIDED(unsigned, overflow_bits, "bit l: environment l of the pack lost a contact")
COLLIDED(Mask, diverged, "not finite, or too fast")
ENV_STATE(Mask, unsolved, "the dual did not reach its tolerance")
ENV_STATE(Real, residual, "relative natural residual of the dual")
ENV_STATE(Real, iterations, "of the solver")
ENV_STATE(bool, l1_cone, "the cones of the rows that are solved now: pyramids with weights by rows (cone.h)")
ENV_STATE(Mask, row_space, "has few rows: Newton's direction is found among them (newton_rows.h)")
ENV_STATE(int, nlocal_max, "the most single-dof rows in use of any small environment of the pack")
COLLIDED(bool, any_xfrc, "the user pushes a body of some environment of the pack")
#undef ENV_STATE
#undef COLLIDED
