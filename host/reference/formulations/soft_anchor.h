// soft ground with an anchored tangential spring: adjust for friction, then slide.
//
// solves    nothing: a force law with one state, the anchor set at first touch
// equation  f_z = max(0, -kz z - dz z') for z < 0; trial f_x = -kx (x - a) - dx x'; adjust: |f_x| <= mu f_z;
//           slide: a = x + (f_x + dx x') / kx, so that the spring reproduces the clamped force
// source    lecture notes on modelling contacts (soft contacts in excess coordinates: friction adjust and slide)
// deviation f_z is clamped, so it cannot pull; without the slide ("clamp") the spring snaps back when the load is gone
// reads     gap z [m] (negative in contact), rates [m/s], anchor [m] (NaN: none), stiffnesses, dampings, mu
// writes    f_z, f_x [N], the anchor for the next step (NaN once apart)
// cost      a few operations
#pragma once

namespace dualstep::formulations {

struct AnchoredForce {
  double f_z, f_x, anchor;
};

struct GroundMaterial {
  double kz, dz, kx, dx, mu;
};

AnchoredForce soft_anchor(double z, double z_rate, double x, double x_rate, double anchor,
                          const GroundMaterial& ground, bool slide);

}  // namespace dualstep::formulations
