// The nearest eight other points of every point, by a grid: points are sorted by cell; then each thread searches for the
// points of a part of them. Products are rounded before they are added, as in the other twins.
#pragma GCC optimize("fp-contract=off")
#include <algorithm>
#include <limits>

#include "program.hpp"

constexpr int kNeighbours = 8, kCell = 64;
constexpr float kFar = std::numeric_limits<float>::infinity();

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>& sizes, Arrays& outputs, Pool& pool) {
    const float *x = as<float>(inputs[0]), *y = as<float>(inputs[1]);
    const size_t n = inputs[0].size() / 4;
    const int side = int(sizes[0]);
    outputs.resize(kNeighbours);
    for (auto& each : outputs) each.resize(4 * n);
    static std::vector<uint32_t> starts, next, id, cells;
    static std::vector<float> px, py;
    for (auto* each : {&px, &py}) each->resize(n);
    for (auto* each : {&id, &cells}) each->resize(n);
    const auto search = [=, &outputs](size_t query) {
      const float qx = px[query], qy = py[query];
      const int column = int(qx / kCell), row = int(qy / kCell);
      float distance[kNeighbours];
      uint32_t found[kNeighbours];
      std::fill_n(distance, kNeighbours, kFar);
      std::fill_n(found, kNeighbours, ~0u);
      const auto is_before = [](float d, uint32_t a, float e, uint32_t b) { return d < e || (d == e && a < b); };
      const auto scan = [&](int from, int to) {
        for (uint32_t at = starts[size_t(from)]; at < starts[size_t(to) + 1]; at++) {
          const float dx = px[at] - qx, dy = py[at] - qy, d = dx * dx + dy * dy;
          int k = kNeighbours - 1;
          if (at == query || !is_before(d, id[at], distance[k], found[k])) continue;
          for (; k > 0 && is_before(d, id[at], distance[k - 1], found[k - 1]); k--) {
            distance[k] = distance[k - 1], found[k] = found[k - 1];
          }
          distance[k] = d, found[k] = id[at];
        }
      };
      for (int ring = 1;; ring++) {
        const int left = column - ring, right = column + ring, bottom = row - ring, top = row + ring;
        const int from = std::max(left, 0), to = std::min(right, side - 1);
        for (int cy = std::max(bottom, 0); cy <= std::min(top, side - 1); cy++) {
          const int first = cy * side;
          if (ring == 1 || cy == bottom || cy == top) {
            scan(first + from, first + to);
            continue;
          }
          if (left >= 0) scan(first + left, first + left);
          if (right < side) scan(first + right, first + right);
        }
        const float bound = std::min({left > 0 ? qx - float(left * kCell) : kFar, right < side - 1 ? float((right + 1) * kCell) - qx : kFar,
                                      bottom > 0 ? qy - float(bottom * kCell) : kFar, top < side - 1 ? float((top + 1) * kCell) - qy : kFar});
        if (bound == kFar || distance[kNeighbours - 1] < bound * bound) break;
      }
      for (size_t k = 0; k < kNeighbours; k++) as<uint32_t>(outputs[k])[id[query]] = found[k];
    };
    return [=, &pool] {
      starts.assign(size_t(side * side) + 1, 0);
      for (size_t i = 0; i < n; i++) starts[(cells[i] = uint32_t(int(y[i] / kCell) * side + int(x[i] / kCell))) + 1]++;
      for (size_t cell = 1; cell < starts.size(); cell++) starts[cell] += starts[cell - 1];
      next = starts;
      for (size_t i = 0; i < n; i++) {
        const uint32_t at = next[cells[i]]++;
        px[at] = x[i], py[at] = y[i], id[at] = uint32_t(i);
      }
      pool.run([&](int t) {
        const auto [from, to] = part_of(n, t, pool.size());
        for (size_t query = from; query < to; query++) search(query);
      });
    };
  });
}
