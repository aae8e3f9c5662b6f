// Count, mean and 90th percentile by polygon: each thread finds the polygons of its points by a grid of boxes and ray casting; then
// each thread sorts the values of its polygons.
#include <algorithm>
#include <cmath>

#include "program.hpp"

constexpr double kSteps = 1 << 30;
constexpr size_t kSide = 720;
constexpr double kCell = kSteps / kSide;

struct Pair { uint32_t point, polygon; };

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>&, Arrays& outputs, Pool& pool) {
    const uint32_t *rings = as<uint32_t>(inputs[0]), *vertices = as<uint32_t>(inputs[1]);
    const int *x = as<int>(inputs[2]), *y = as<int>(inputs[3]);
    const uint32_t *px = as<uint32_t>(inputs[4]), *py = as<uint32_t>(inputs[5]), *value = as<uint32_t>(inputs[6]);
    const size_t polygons = inputs[0].size() / 4 - 1, points = inputs[4].size() / 4;
    static std::vector<int> boxes;
    static std::vector<std::vector<uint32_t>> cells, parts;
    static std::vector<std::vector<Pair>> found;
    static std::vector<uint32_t> starts, list, first, next, grouped;
    boxes.resize(4 * polygons), cells.resize(kSide * kSide);
    for (size_t k = 0; k < polygons; k++) {
      const auto [from, to] = std::pair(vertices[rings[k]], vertices[rings[k + 1]]);
      const auto [left, right] = std::minmax_element(x + from, x + to);
      const auto [bottom, top] = std::minmax_element(y + from, y + to);
      const int box[4] = {*left, *bottom, *right, *top};
      std::copy(box, box + 4, &boxes[4 * k]);
      const auto cell = [](int at) { return std::min(kSide - 1, size_t(at / kCell)); };
      for (size_t row = cell(*bottom); row <= cell(*top); row++)
        for (size_t column = cell(*left); column <= cell(*right); column++) cells[row * kSide + column].push_back(uint32_t(k));
    }
    starts.push_back(0);
    for (const auto& each : cells) list.insert(list.end(), each.begin(), each.end()), starts.push_back(uint32_t(list.size()));
    found.resize(size_t(pool.size()));
    outputs.resize(3);
    for (auto& output : outputs) output.resize(4 * polygons);
    uint32_t *counts = as<uint32_t>(outputs[0]), *p90 = as<uint32_t>(outputs[2]);
    float* mean = as<float>(outputs[1]);
    const auto holds = [=](size_t k, double qx, double qy) {
      bool inside = false;
      for (uint32_t ring = rings[k]; ring < rings[k + 1]; ring++) {
        for (uint32_t v = vertices[ring], u = vertices[ring + 1] - 1; v < vertices[ring + 1]; u = v++) {
          if ((y[u] <= qy) != (y[v] <= qy) && qx >= x[u] + (qy - y[u]) * (double(x[v]) - x[u]) / (double(y[v]) - y[u])) inside = !inside;
        }
      }
      return inside;
    };
    return [=, &pool] {
      pool.run([&](int t) {
        auto& own = found[size_t(t)];
        own.clear();
        const auto [from, to] = part_of(points, t, pool.size());
        for (size_t i = from; i < to; i++) {
          const size_t cell = size_t(py[i] / kCell) * kSide + size_t(px[i] / kCell);
          for (uint32_t at = starts[cell]; at < starts[cell + 1]; at++) {
            const int* box = &boxes[4 * list[at]];
            if (int(px[i]) < box[0] || int(px[i]) > box[2] || int(py[i]) < box[1] || int(py[i]) > box[3]) continue;
            if (holds(list[at], px[i], py[i])) own.push_back({uint32_t(i), list[at]});
          }
        }
      });
      first.assign(polygons + 1, 0);
      for (const auto& own : found) for (const Pair& pair : own) first[pair.polygon + 1]++;
      for (size_t k = 0; k < polygons; k++) first[k + 1] += first[k];
      next = first;
      grouped.resize(first[polygons]);
      for (const auto& own : found) for (const Pair& pair : own) grouped[next[pair.polygon]++] = value[pair.point];
      pool.run([&](int t) {
        const auto [from, to] = part_of(polygons, t, pool.size());
        for (size_t k = from; k < to; k++) {
          const auto [begin, end] = std::pair(grouped.begin() + first[k], grouped.begin() + first[k + 1]);
          const uint32_t n = uint32_t(end - begin);
          double sum = 0;
          for (auto at = begin; at != end; at++) sum += *at;
          counts[k] = n, mean[k] = n == 0 ? 0 : float(sum) / float(n), p90[k] = 0;
          if (n == 0) continue;
          const auto rank = begin + (9 * n + 9) / 10 - 1;
          std::nth_element(begin, rank, end);
          p90[k] = *rank;
        }
      });
    };
  });
}
