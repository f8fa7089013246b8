// A walk over the arrays of a Model in the order of the field table: loading, bindings and checks use it, so
// that a row added to the table is everywhere at once.
#pragma once

#include "host/model/model.h"

namespace dualstep {

// calls visit(name, vector, rows, cols, fallback) for each array; cols is -1 where the model's file decides
template <class AnyModel, class Visit>
void for_each_field(AnyModel& model, Visit&& visit) {
  const int nq = model.nq, nv = model.nv, na = model.na, nu = model.nu;
#define FIELD(kind, name, rows, cols, fallback) \
  visit(#name, model.name, model.rows, static_cast<int>(cols), fallback);
#include "host/model/mjmodel_fields.inl"
#undef FIELD
  (void)nq, (void)nv, (void)na, (void)nu;
}

// calls visit(name, size) for each size of the model
template <class AnyModel, class Visit>
void for_each_size(AnyModel& m, Visit&& visit) {
#define SIZE(name) visit(#name, m.name);
  SIZE(nq)
  SIZE(nv)
  SIZE(nu)
  SIZE(na)
  SIZE(nbody)
  SIZE(njnt)
  SIZE(ngeom)
  SIZE(nsite)
  SIZE(npair)
  SIZE(nexclude)
  SIZE(neq)
  SIZE(ntendon)
  SIZE(nwrap)
  SIZE(nactuator)
  SIZE(nsensor)
  SIZE(nsensordata)
  SIZE(nkey)
  SIZE(nmocap)
  SIZE(nmesh)
  SIZE(nmeshvert)
  SIZE(nmeshface)
  SIZE(nmeshgraph)
  SIZE(nmeshpoly)
  SIZE(nmeshpolyvert)
  SIZE(nmeshpolymap)
  SIZE(nhfield)
  SIZE(nhfielddata)
  SIZE(nnumeric)
  SIZE(nnumericdata)
  SIZE(ntext)
#undef SIZE
}

}  // namespace dualstep
