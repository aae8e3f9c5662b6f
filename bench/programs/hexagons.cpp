// Points by hexagon, and the density of each hexagon and the six around it. Each thread counts a part of the points; then
// each adds up a part of the lattice's counts. Products are rounded before they are added, as in the other twins.
#pragma GCC optimize("fp-contract=off")
#include <cmath>

#include "program.hpp"

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>& sizes, Arrays& outputs, Pool& pool) {
    constexpr int kMargin = 2;
    constexpr float kSize = 20;
    const float across = float(1 / (std::sqrt(3.0) * kSize)), upwards = 1 / kSize;
    const float part_of_seven = float(1 / (7 * 1.5 * std::sqrt(3.0) * kSize * kSize));
    const float *x = as<float>(inputs[0]), *y = as<float>(inputs[1]);
    const size_t n = inputs[0].size() / 4;
    const int columns = int(sizes[0]), rows = int(sizes[1]);
    const size_t cells = size_t(columns) * size_t(rows);
    outputs.resize(2);
    for (auto& each : outputs) each.resize(4 * cells);
    uint32_t* counts = as<uint32_t>(outputs[0]);
    float* density = as<float>(outputs[1]);
    static std::vector<std::vector<uint32_t>> own;
    own.assign(size_t(pool.size()), std::vector<uint32_t>(cells));
    return [=, &pool] {
      pool.run([&](int t) {
        auto& mine = own[size_t(t)];
        std::fill(mine.begin(), mine.end(), 0);
        const auto [from, to] = part_of(n, t, pool.size());
        for (size_t i = from; i < to; i++) {
          const float u = x[i] * across, v = y[i] * upwards;
          const int lines = int(std::floor(u + v)) + 2;
          const int row = (lines + int(std::floor(v - u))) / 3, slanted = (lines + int(std::floor(u + u))) / 3;
          mine[size_t((row + kMargin) * columns + slanted - ((row + 1) >> 1) + kMargin)]++;
        }
      });
      pool.run([&](int t) {
        const auto [from, to] = part_of(cells, t, pool.size());
        for (size_t i = from; i < to; i++) {
          counts[i] = 0;
          for (const auto& each : own) counts[i] += each[i];
        }
      });
      pool.run([&](int t) {
        for (int row = 1 + (rows - 2) * t / pool.size(); row < 1 + (rows - 2) * (t + 1) / pool.size(); row++) {
          for (int i = row * columns + 1; i < (row + 1) * columns - 1; i++) {
            const uint32_t *here = counts + i, *below = here - columns + (row & 1), *above = here + columns + (row & 1);
            const uint32_t seven = here[-1] + here[0] + here[1] + below[-1] + below[0] + above[-1] + above[0];
            density[i] = float(seven) * part_of_seven;
          }
        }
      });
    };
  });
}
