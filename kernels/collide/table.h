// The narrow phase at a glance: kinds.h says which function answers for a pair of geom types, and how many
// contacts it can have; these are the functions.
#pragma once

#include "kernels/collide/box_box.h"
#include "kernels/collide/capsule.h"
#include "kernels/collide/capsule_box.h"
#include "kernels/collide/capsule_cylinder.h"
#include "kernels/collide/convex/pairs.h"
#include "kernels/collide/cylinder_box.h"
#include "kernels/collide/cylinder_cylinder.h"
#include "kernels/collide/hfield/pairs.h"
#include "kernels/collide/kinds.h"
#include "kernels/collide/plane.h"
#include "kernels/collide/sphere.h"
