// A field of the state that the simulation knows nothing of: what CONTRIBUTING.md says of a new one, as a row.
// Included by fields.inl where DUALSTEP_EXTRA_FIELDS names this file.
STATE(toy_age, nv, CARRIED, "steps that each dof has lived")
