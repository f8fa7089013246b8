// Collision of shapes: pure functions from two posed shapes to contact points. No model, no workspace.
#pragma once

#include <vector>

#include "host/model/model.h"
#include "host/reference/data.h"

namespace dualstep::reference {

// the convex hull of a mesh as MuJoCo's compiler made it: points, and faces with coplanar triangles merged, in
// the geom's frame
struct Hull {
  const Model* model = nullptr;
  int mesh = -1;

  int points() const;
  Vector3d point(int i) const;
  int faces() const;
  Vector3d face_normal(int f) const;
  std::vector<Vector3d> face_corners(int f) const;  // counterclockwise seen from outside
};

// heights over a grid, in the frame of the geom; cell (i, j) has its corner (i, j) at x = -half_x + i dx,
// y = -half_y + j dy
struct HeightField {
  HeightField(const Model& model, int id);
  int rows, columns;
  double half_x, half_y, dx, dy;
  double top, base;  // heights are from 0 to `top`; the solid reaches down to -base

  bool has(int i, int j) const { return i >= 0 && j >= 0 && i < columns && j < rows; }
  Vector3d at(int i, int j) const { return {i * dx - half_x, j * dy - half_y, top * data[j * columns + i]}; }

 private:
  const double* data;
};

struct Shape {
  int type = -1;  // of the list in shapes/shapes.h
  Vector3d pos = Vector3d::Zero();
  Matrix3d mat = Matrix3d::Identity();
  Vector3d size = Vector3d::Zero();  // MuJoCo's: radius; radius, half length along z; half sides, half axes
  Hull hull = {};                    // of a mesh; of a height field its model and number

  Vector3d axis() const { return mat.col(2); }
};

// a geom of a model, in the world
Shape shape_of(const Model& m, const Data& d, int geom);

// a contact point before it has parameters; normal from the first shape to the second
struct Touch {
  double dist = 0;
  Vector3d pos = Vector3d::Zero();  // midway between the two surfaces
  Vector3d normal = Vector3d::UnitX();
  Vector3d tangent = Vector3d::Zero();  // wanted direction of t1; zero where there is none
};
using Touches = std::vector<Touch>;

// contacts with dist <= margin between two shapes, first.type <= second.type (MuJoCo's order of types)
Touches collide_shapes(const Shape& first, const Shape& second, double margin);
// likewise in any order of types; the normals are from the first to the second
Touches collide_either_way(const Shape& from, const Shape& to, double margin);
// whether MuJoCo finds the contacts of two types, the lower first, by iteration
bool is_iterated(int type1, int type2);

// rows n, t1, t2: t1 as wanted, else the world's y axis (z where n is near y), made orthogonal to n
Matrix3d contact_frame(const Touch& touch);

// a vector of length one and its former length; (1, 0, 0) where that is below 1e-15, as in MuJoCo
Vector3d unit_or_x(const Vector3d& v, double* length = nullptr);

// shapes that stand for parts of others: a plane through a point, a ball, a segment
Shape plane_through(const Vector3d& point, const Vector3d& normal);
Shape point_with_radius(const Vector3d& pos, double radius, const Matrix3d& mat);
Shape segment(const Vector3d& from, const Vector3d& to);

// contacts of both kinds of searches. Between two sums of segments, disks and a ball: the direction of least overlap and a
// manifold
struct Summands;
struct Separation {
  double dist = 0;  // distance, or minus the penetration depth
  Vector3d normal = Vector3d::UnitX();
};
Separation separation(const Shape& first, const Shape& second, const Summands& sum1, const Summands& sum2);
Touches convex_manifold(const Shape& first, const Shape& second, const Separation& sep, double margin);
// and between any two convex shapes
Touches general_convex(const Shape& first, const Shape& second, double margin);
// a height field, against every convex shape
Touches hfield_convex(const Shape& field, const Shape& shape, double margin);

// a convex shape is a core with a ball around it: a point for a sphere, a segment for a capsule
double ball_radius(const Shape& shape);
// the core's point farthest along n; relative to the shape's position, in world axes
Vector3d core_support(const Shape& shape, const Vector3d& n);
// the radius of a ball around the shape's position that holds all of it
double extent(const Shape& shape);
// the distance between two shapes (negative: minus the penetration depth), its direction from the first to the
// second, and a pair of points that attain it, relative to the first shape's position
struct ClosestPair {
  double dist = 0;
  Vector3d normal = Vector3d::UnitX();
  Vector3d on_first = Vector3d::Zero(), on_second = Vector3d::Zero();
};
// of two convex shapes by a search. Exact to rounding where dist <= beyond; a lower bound of the distance otherwise
ClosestPair closest(const Shape& first, const Shape& second, double beyond);
// likewise of any two, first.type <= second.type, the points in the world
ClosestPair closest_points(const Shape& first, const Shape& second, double beyond);
// the local maximum near n of g(n) = min over the difference of the cores of n.x, exactly: `on_first` and
// `on_second` hold points of the cores that attain g at n but for little
Vector3d polished_direction(const Shape& first, const Shape& second, const Vector3d& n,
                            const std::vector<Vector3d>& on_first, const std::vector<Vector3d>& on_second);
// contacts at a closest pair: where flat features meet the corners of their overlap, at most four; else the pair
Touches hull_manifold(const Shape& first, const Shape& second, const ClosestPair& pair, double margin);
// at most four of them, the deepest first, none closer to another than `apart`
Touches four_apart(Touches all, double apart);

}  // namespace dualstep::reference
