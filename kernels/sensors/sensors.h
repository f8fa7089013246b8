// Sensors: the readings of those that the model has, in the evaluations whose outputs are wanted.
//
// solves    sensordata
// equation  those of the kinds (kinds.h); then a cutoff c > 0 bounds a number to [-c, c], or from above alone
// source    MuJoCo's documentation, "Sensors"
// deviation noise is the user's, as in MuJoCo
// reads     what the kinds read
// writes    sensordata; dw where an energy is sensed
// cost      that of the sensors; nothing where nobody asked for sensordata, nor a word of code where a kernel is
//           compiled for one model (`sensors` is then 0 when it is compiled)
#pragma once

#include "kernels/sensors/kinds.h"
#include "kernels/smooth/energy.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// how a cutoff bounds a reading
template <class E>
DS_HD void cut_off(const E& env, int s) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (t.sensor_cut[s] == kCutNever) return;
  const Real bound = env.sensor_cutoff(s);
  const auto bounded = bound > Real(0);
  if (!any(bounded)) return;
  for (int i = t.sensor_adr[s]; i < t.sensor_adr[s + 1]; i++) {
    const Real x = env.sensordata()[i];
    Real cut = min(x, bound);
    if (t.sensor_cut[s] == kCutBothSides) cut = max(cut, -bound);
    env.sensordata()[i] = select(bounded, cut, x);
  }
}

template <class E>
DS_STAGE void read_sensor(const SensorView<E>& at, int s) {
  const auto& t = at.env.t;
  using Real = typename E::Real;
  const auto out = at.env.sensordata().from(t.sensor_adr[s]);
  for (int i = 0; i < t.sensor_adr[s + 1] - t.sensor_adr[s]; i++) out[i] = Real(0);
  if (disabled(t.o, kDisableSensor)) return;
  AllSensors::with(t.o.sensors, t.sensor_type[s], [&](auto kind) { kind.read(at, s, out); });
  cut_off(at.env, s);
}

template <class E>
DS_STAGE void read_sensors(E& env, const EnvIO<E>& in) {
  using Real = typename E::Real;
  const auto& t = env.t;
  env.done();  // the scratch of other outputs is the energies'
  SensorView<E> at{env, in, Real(0), Real(0)};
  if (t.o.sensors & AllSensors::bits(kPotential)) {
    const auto energy = energy_of(env);
    at.potential = energy.potential;
    at.kinetic = energy.kinetic;
  }
  env.each(t.n.nsensor, [&](int s) { read_sensor(at, s); });
  env.sync();
  in.store_field(in.batch.sensordata, env.sensordata(), t.w.sensordata);
  env.done();
}

template <class E>
DS_HD void sense_sensors(E& env, const EnvIO<E>& in) {
  if (env.t.o.sensors != 0 && in.batch.sensordata != nullptr) read_sensors(env, in);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
