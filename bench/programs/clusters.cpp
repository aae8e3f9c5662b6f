// Clusters of points that are connected by steps of at most a radius, labelled by their first point: points are sorted by
// cell; each thread finds out for a part of the cells which later cells they touch; then cells are united, and every point
// follows its links.
#include <algorithm>
#include <cmath>

#include "program.hpp"

constexpr long kRadius = 1000;
constexpr int kMargin = 2, kLater = 10;

static bool close(long dx, long dy) { return dx * dx + dy * dy <= kRadius * kRadius; }

static uint32_t find(uint32_t* label, uint32_t point) {
  for (uint32_t next = label[point]; next != point; next = label[point]) point = label[point] = label[next];
  return point;
}

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>& sizes, Arrays& outputs, Pool& pool) {
    const uint32_t *x = as<uint32_t>(inputs[0]), *y = as<uint32_t>(inputs[1]);
    const size_t n = inputs[0].size() / 4;
    const long columns = long(sizes[0]), side = long(double(kRadius) / std::sqrt(2.0));
    const size_t cells = size_t(columns * columns);
    const long later[kLater] = {1, 2, columns - 2, columns - 1, columns, columns + 1, columns + 2, 2 * columns - 1, 2 * columns, 2 * columns + 1};
    outputs.resize(1);
    outputs[0].resize(4 * n);
    uint32_t* label = as<uint32_t>(outputs[0]);
    static std::vector<uint32_t> starts, next, id, cell_of;
    static std::vector<uint16_t> touched;
    static std::vector<long> px, py;
    for (auto* each : {&px, &py}) each->resize(n);
    for (auto* each : {&id, &cell_of}) each->resize(n);
    touched.resize(cells);
    const auto touch = [](size_t from, size_t to, size_t start, size_t end) {
      const auto [left, right] = std::minmax_element(px.begin() + long(start), px.begin() + long(end));
      const auto [bottom, top] = std::minmax_element(py.begin() + long(start), py.begin() + long(end));
      for (size_t i = from; i < to; i++) {
        if (!close(std::max({0L, *left - px[i], px[i] - *right}), std::max({0L, *bottom - py[i], py[i] - *top}))) continue;
        for (size_t j = start; j < end; j++) if (close(px[j] - px[i], py[j] - py[i])) return true;
      }
      return false;
    };
    return [=, &pool] {
      starts.assign(cells + 1, 0);
      for (size_t i = 0; i < n; i++) {
        cell_of[i] = uint32_t((long(y[i]) / side + kMargin) * columns + long(x[i]) / side + kMargin);
        starts[cell_of[i] + 1]++;
      }
      for (size_t cell = 0; cell < cells; cell++) starts[cell + 1] += starts[cell];
      next = starts;
      for (size_t i = 0; i < n; i++) {
        const uint32_t at = next[cell_of[i]]++;
        px[at] = x[i], py[at] = y[i], id[at] = uint32_t(i);
        label[i] = id[starts[cell_of[i]]];
      }
      pool.run([&](int t) {
        const auto [first, last] = part_of(cells, t, pool.size());
        for (size_t cell = first; cell < last; cell++) {
          uint16_t bits = 0;
          const size_t from = starts[cell], to = starts[cell + 1];
          for (int k = 0; from < to && k < kLater; k++) {
            const size_t other = cell + size_t(later[k]), start = starts[other], end = starts[other + 1];
            if (start < end && touch(from, to, start, end)) bits |= uint16_t(1 << k);
          }
          touched[cell] = bits;
        }
      });
      for (size_t cell = 0; cell < cells; cell++) {
        for (int k = 0; k < kLater; k++) {
          if (!(touched[cell] >> k & 1)) continue;
          const uint32_t a = find(label, id[starts[cell]]), b = find(label, id[starts[cell + size_t(later[k])]]);
          label[std::max(a, b)] = std::min(a, b);
        }
      }
      for (size_t i = 0; i < n; i++) label[i] = find(label, uint32_t(i));
    };
  });
}
