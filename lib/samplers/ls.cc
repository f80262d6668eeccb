// Lattice sampling, this project's own. The points of a row form a lattice with cells of b/a points; the offset within
// the cell differs from row to row, so that a cell's worth of rows visits every point of the map exactly once.
// Neighbouring points, which repeat each other, are never both in a row's sample, and no place of the map is preferred.

#include <algorithm>

#include "samplers/method.h"
#include "samplers/permutation.h"
#include "samplers/sizes.h"

namespace samplenorm {
namespace {

std::vector<Box> lattice(const Shape& shape, Ratio ratio, Stream& stream) {
  const auto [depth, height, width] = nearest_sides(1 / ratio.value(), shape);
  const int64_t cell = depth * height * width;
  const std::vector<int64_t> offsets = random_permutation(cell, stream);

  std::vector<Box> boxes;
  for (int64_t row = 0; row < std::min(cell, shape.rows); ++row) {
    const int64_t offset = offsets[static_cast<size_t>((shape.first_row + row) % cell)];
    Box box;
    box.rows = {shape.virtual_rows + row, shape.all_rows(), cell};
    box.depths = {offset / (height * width), shape.depth, depth};
    box.heights = {offset / width % height, shape.height, height};
    box.widths = {offset % width, shape.width, width};
    boxes.push_back(box);
  }
  return boxes;
}

/// Whole rounds of offsets visit every point of the map once; of the rows left over, each may have the offset with the
/// fewest or with the most points.
Method::Points lattice_points(const Shape& shape, Ratio ratio) {
  const auto [depth, height, width] = nearest_sides(1 / ratio.value(), shape);
  const int64_t cell = depth * height * width;
  const int64_t fewest = (shape.depth / depth) * (shape.height / height) * (shape.width / width);
  const auto above = [](int64_t length, int64_t side) { return (length + side - 1) / side; };
  const int64_t most = above(shape.depth, depth) * above(shape.height, height) * above(shape.width, width);
  const int64_t whole_rounds = shape.rows / cell * shape.map_points(), rows_left = shape.rows % cell;
  return {whole_rounds + rows_left * fewest, whole_rounds + rows_left * most};
}

}  // namespace

extern const Method lattice_sampling;
const Method lattice_sampling = {
    "LS",
    "lattice sampling",
    "in every row the points of a lattice with cells of b/a points, at another offset in each row",
    Mixing::kReal,
    true,
    true,
    lattice,
    false,
    lattice_points,
    1024};  // from some hundreds of points on the gradients are BN's, and layers that are small enough to need it are
            // cheap

}  // namespace samplenorm
