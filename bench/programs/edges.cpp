// Edges of an image in four passes over strips of rows, one for each thread; each pass ends before the next begins.
#include <algorithm>
#include <cmath>

#include "program.hpp"

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>& sizes, Arrays& outputs, Pool& pool) {
    const float* image = as<float>(inputs[0]);
    const long n = long(inputs[0].size() / 4), width = long(sizes[0]), height = n / width;
    static std::vector<float> along, smooth, gx, gy, steep;
    for (auto* each : {&along, &smooth, &gx, &gy, &steep}) each->resize(size_t(n));
    outputs.resize(1);
    outputs[0].resize(size_t(4 * n));
    float* edge = as<float>(outputs[0]);
    const auto clamp_x = [=](long x) { return std::min(width - 1, std::max(0L, x)); };
    const auto clamp_y = [=](long y) { return std::min(height - 1, std::max(0L, y)); };
    const auto rows = [=, &pool](auto row) {
      pool.run([&](int t) {
        for (long y = height * t / pool.size(), end = height * (t + 1) / pool.size(); y < end; y++) row(y);
      });
    };
    return [=] {
      rows([&](long y) {
        const float* in = image + y * width;
        float* out = along.data() + y * width;
        const auto cell = [&](long x, auto at) {
          out[x] = (at(x - 2) + at(x + 2) + (at(x - 1) + at(x + 1)) * 4 + at(x) * 6) / 16;
        };
        for (const long x : {0L, 1L, width - 2, width - 1}) cell(clamp_x(x), [&](long k) { return in[clamp_x(k)]; });
        for (long x = 2; x < width - 2; x++) cell(x, [&](long k) { return in[k]; });
      });
      rows([&](long y) {
        const float *a = along.data() + clamp_y(y - 2) * width, *b = along.data() + clamp_y(y - 1) * width,
                    *c = along.data() + y * width, *d = along.data() + clamp_y(y + 1) * width,
                    *e = along.data() + clamp_y(y + 2) * width;
        float* out = smooth.data() + y * width;
        for (long x = 0; x < width; x++) out[x] = (a[x] + e[x] + (b[x] + d[x]) * 4 + c[x] * 6) / 16;
      });
      rows([&](long y) {
        const float *up = smooth.data() + clamp_y(y - 1) * width, *here = smooth.data() + y * width,
                    *down = smooth.data() + clamp_y(y + 1) * width;
        const auto cell = [&](long x, long w, long e) {
          const long i = y * width + x;
          const float dx = up[e] - up[w] + (here[e] - here[w]) * 2 + (down[e] - down[w]);
          const float dy = down[w] - up[w] + (down[x] - up[x]) * 2 + (down[e] - up[e]);
          gx[size_t(i)] = dx, gy[size_t(i)] = dy, steep[size_t(i)] = std::fabs(dx) + std::fabs(dy);
        };
        cell(0, 0, clamp_x(1));
        for (long x = 1; x < width - 1; x++) cell(x, x - 1, x + 1);
        cell(width - 1, clamp_x(width - 2), width - 1);
      });
      rows([&](long y) {
        const auto cell = [&](long x, auto at) {
          const long i = y * width + x;
          const float dx = gx[size_t(i)], dy = gy[size_t(i)], ax = std::fabs(dx), ay = std::fabs(dy), own = ax + ay;
          const float a = ay * 2 < ax ? at(1, 0) : ax * 2 < ay ? at(0, 1) : dx * dy >= 0 ? at(1, 1) : at(1, -1);
          const float b = ay * 2 < ax ? at(-1, 0) : ax * 2 < ay ? at(0, -1) : dx * dy >= 0 ? at(-1, -1) : at(-1, 1);
          edge[i] = own >= a && own >= b ? own : 0;
        };
        const auto clamped = [&](long x) {
          cell(x, [&](long dx, long dy) { return steep[size_t(clamp_y(y + dy) * width + clamp_x(x + dx))]; });
        };
        if (y == 0 || y == height - 1) {
          for (long x = 0; x < width; x++) clamped(x);
          return;
        }
        clamped(0);
        const float* here = steep.data() + y * width;
        for (long x = 1; x < width - 1; x++) cell(x, [&](long dx, long dy) { return here[x + dy * width + dx]; });
        clamped(width - 1);
      });
    };
  });
}
