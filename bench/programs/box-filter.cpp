// A summed-area table and the sums of windows of 15 × 15 cells. Each thread makes the table of its strip of rows; then the last row
// of every strip is added to the strips below it, and windows are differences of four entries.
#include <algorithm>

#include "program.hpp"

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>& sizes, Arrays& outputs, Pool& pool) {
    const uint32_t* cells = as<uint32_t>(inputs[0]);
    const long n = long(inputs[0].size() / 4), width = long(sizes[0]), height = n / width;
    const long before = long(sizes[1] - 1) / 2, after = long(sizes[1]) / 2;
    outputs.resize(2);
    for (auto& output : outputs) output.resize(size_t(4 * n));
    uint32_t *table = as<uint32_t>(outputs[0]), *box = as<uint32_t>(outputs[1]);
    const auto strips = [=, &pool](auto work) {
      pool.run([&](int t) { work(t, height * t / pool.size(), height * (t + 1) / pool.size()); });
    };
    return [=, &pool] {
      strips([&](int, long from, long to) {
        for (long y = from; y < to; y++) {
          uint32_t sum = 0;
          const uint32_t* above = table + (y - 1) * width;
          for (long x = 0; x < width; x++) {
            sum += cells[y * width + x];
            table[y * width + x] = sum + (y > from ? above[x] : 0);
          }
        }
      });
      for (int t = 1; t < pool.size(); t++) {
        const long from = height * t / pool.size(), to = height * (t + 1) / pool.size();
        if (from == 0) continue;
        const uint32_t* last = table + (from - 1) * width;
        pool.run([&](int k) {
          for (long y = from + (to - from) * k / pool.size(), end = from + (to - from) * (k + 1) / pool.size(); y < end; y++) {
            for (long x = 0; x < width; x++) table[y * width + x] += last[x];
          }
        });
      }
      strips([&](int, long from, long to) {
        for (long y = from; y < to; y++) {
          const uint32_t* low = table + std::min(height - 1, y + after) * width;
          const uint32_t* high = y - before > 0 ? table + (y - before - 1) * width : nullptr;
          const auto cell = [&](long x, long right, long left) {
            uint32_t sum = low[right] - (left < 0 ? 0 : low[left]);
            if (high != nullptr) sum -= high[right] - (left < 0 ? 0 : high[left]);
            box[y * width + x] = sum;
          };
          const long inner = std::min(width, before + 1), outer = std::max(inner, width - after);
          for (long x = 0; x < inner; x++) cell(x, std::min(width - 1, x + after), -1);
          if (high != nullptr) {
            for (long x = inner; x < outer; x++) {
              box[y * width + x] = low[x + after] - low[x - before - 1] - high[x + after] + high[x - before - 1];
            }
          } else {
            for (long x = inner; x < outer; x++) box[y * width + x] = low[x + after] - low[x - before - 1];
          }
          for (long x = outer; x < width; x++) cell(x, width - 1, x - before - 1);
        }
      });
    };
  });
}
