// What a batch keeps of each environment beside its state, and outputs that are not of its precision.
//
//   RECORD(name, type, role, element, width, axes, meaning)   (num_envs, width) of a type, which the host calls element
//
// Scalar is the precision of the batch. Rows of FieldRole kRecord are saved and reset with the environment, those of
// kOutput are written when wanted (kernels/output/outputs.h).

RECORD(time, double, kRecord, kDouble, 1, "", "time of each environment [s]")
RECORD(status, uint32_t, kRecord, kWord, 1, "", "bits of Status; each stays until the environment is reset or it is cleared")
RECORD(iterations, int, kRecord, kInt, 1, "", "iterations of the last solve of the contact dual")
RECORD(residual, Scalar, kRecord, kReal, 1, "", "relative KKT residual of the last solve")
RECORD(contact_count, int, kRecord, kInt, 1, "", "contacts of the last evaluation")
RECORD(contacts_needed, int, kRecord, kInt, 1, "", "contacts of the last evaluation before any was dropped")
RECORD(contact_geom, int, kOutput, kInt, 2 * ncon, "ncon 2", "the two geoms of each contact")
#undef RECORD
