// The 4-connected components of a grid, labelled by the index of their first cell: union by lesser index with path halving and the
// diagonal test, in one strip of rows for each thread; then the borders of strips are joined, and links followed.
#include "program.hpp"

constexpr uint32_t kNone = ~0u;

static uint32_t find(uint32_t* label, uint32_t cell) {
  for (uint32_t next = label[cell]; next != cell; next = label[cell]) cell = label[cell] = label[next];
  return cell;
}

static uint32_t unite(uint32_t* label, uint32_t a, uint32_t b) {
  a = find(label, a), b = find(label, b);
  const uint32_t least = a < b ? a : b;
  label[a] = label[b] = least;
  return least;
}

int main(int count, char** arguments) {
  return serve(count, arguments, [](Arrays& inputs, std::vector<double>& sizes, Arrays& outputs, Pool& pool) {
    const uint8_t* cells = as<uint8_t>(inputs[0]);
    const size_t n = inputs[0].size(), width = size_t(sizes[0]), rows = n / width;
    outputs.resize(1);
    outputs[0].resize(4 * n);
    uint32_t* label = as<uint32_t>(outputs[0]);
    return [=, &pool] {
      const size_t threads = size_t(pool.size());
      pool.run([&](int t) {
        const size_t first = rows * size_t(t) / threads, end = rows * size_t(t + 1) / threads;
        for (size_t y = first; y < end; y++) {
          for (size_t x = 0, i = y * width; x < width; x++, i++) {
            if (!cells[i]) {
              label[i] = kNone;
              continue;
            }
            const bool left = x > 0 && cells[i - 1], up = y > first && cells[i - width];
            if (!up) label[i] = left ? label[i - 1] : uint32_t(i);
            else if (!left) label[i] = label[i - width];
            else if (cells[i - width - 1]) label[i] = label[i - 1];
            else label[i] = unite(label, uint32_t(i - 1), uint32_t(i - width));
          }
        }
      });
      for (size_t t = 1; t < threads; t++) {
        const size_t start = rows * t / threads * width;
        if (start == 0 || start == n) continue;
        for (size_t i = start; i < start + width; i++) {
          if (cells[i] && cells[i - width]) unite(label, uint32_t(i), uint32_t(i - width));
        }
      }
      // A thread may see the links of another before or after they are shortened; both lead to the same cell.
      pool.run([&](int t) {
        const auto [from, to] = part_of(n, t, int(threads));
        for (size_t i = from; i < to; i++) {
          if (label[i] == kNone) continue;
          uint32_t cell = label[i];
          while (label[cell] != cell) cell = label[cell];
          label[i] = cell;
        }
      });
    };
  });
}
