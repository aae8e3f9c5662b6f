// Primitives over u32 columns in memory, as a C++ programmer would write them for several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "threads.hpp"

using u32 = std::uint32_t;

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kPasses = 32 / kDigitBits;
constexpr int kBins = 256;
constexpr int kPrivateTables = 4;  // per histogram, so that successive hits of a bin do not wait for each other

inline u32 affine(u32 x) { return x * 2654435761u + 1u; }
inline u32 is_odd(u32 x) { return x & 1u; }

void map(Pool& pool, const u32* __restrict x, u32* __restrict out, size_t n) {
  pool.run([=, threads = pool.size()](int t) {
    const auto [from, to] = part_of(n, t, threads);
    for (size_t i = from; i < to; i++) out[i] = affine(x[i]);
  });
}

void copy(Pool& pool, const u32* __restrict x, u32* __restrict out, size_t n) {
  pool.run([=, threads = pool.size()](int t) {
    const auto [from, to] = part_of(n, t, threads);
    std::memcpy(out + from, x + from, (to - from) * sizeof(u32));
  });
}

u32 sum_of(const u32* x, size_t from, size_t to) {
  u32 sum = 0;
  for (size_t i = from; i < to; i++) sum += x[i];
  return sum;
}

u32 reduce(Pool& pool, const u32* x, size_t n) {
  PerThread sums(pool.size());
  pool.run([&](int t) {
    const auto [from, to] = part_of(n, t, pool.size());
    sums[t].value = sum_of(x, from, to);
  });
  return u32(sums_before(sums));
}

/** The exclusive scan of one thread's part, starting from `sum`. */
void scan_part(const u32* __restrict x, u32* __restrict out, size_t from, size_t to, u32 sum) {
  for (size_t i = from; i < to; i++) {
    out[i] = sum;
    sum += x[i];
  }
}

/**
 * Exclusive scan. On several threads, it takes two passes: the sum of each part, then a scan of each part, which starts
 * from the sum of all earlier parts.
 */
void exclusive_scan(Pool& pool, const u32* x, u32* out, size_t n) {
  PerThread sums(pool.size());
  if (pool.size() > 1) {
    pool.run([&](int t) {
      const auto [from, to] = part_of(n, t, pool.size());
      sums[t].value = sum_of(x, from, to);
    });
    sums_before(sums);
  }
  pool.run([&](int t) {
    const auto [from, to] = part_of(n, t, pool.size());
    scan_part(x, out, from, to, u32(sums[t].value));
  });
}

/**
 * Copies kept rows in order, without a branch that depends on a row: every row is written at the next free place, which
 * only a kept row then occupies. On several threads, the kept rows of each part are counted first, and a part ends at
 * its last kept row.
 */
template <class Keep, class Write> size_t copy_if(Pool& pool, size_t n, Keep keep, Write write) {
  if (pool.size() == 1) {
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
      write(place, i);
      place += keep(i);
    }
    return place;
  }
  PerThread starts(pool.size());
  pool.run([&](int t) {
    const auto [from, to] = part_of(n, t, pool.size());
    u32 kept = 0;
    for (size_t i = from; i < to; i++) kept += keep(i);
    starts[t].value = kept;
  });
  const size_t total = sums_before(starts);
  pool.run([&](int t) {
    const size_t end = t + 1 < pool.size() ? starts[t + 1].value : total;
    size_t i = part_of(n, t, pool.size()).from;
    for (size_t place = starts[t].value; place < end; i++) {
      write(place, i);
      place += keep(i);
    }
  });
  return total;
}

void gather(Pool& pool, const u32* __restrict x, const u32* __restrict places, u32* __restrict out, size_t n) {
  pool.run([=, threads = pool.size()](int t) {
    const auto [from, to] = part_of(n, t, threads);
    for (size_t i = from; i < to; i++) out[i] = x[places[i]];
  });
}

void scatter(Pool& pool, const u32* __restrict x, const u32* __restrict places, u32* __restrict out, size_t n) {
  pool.run([=, threads = pool.size()](int t) {
    const auto [from, to] = part_of(n, t, threads);
    for (size_t i = from; i < to; i++) out[places[i]] = x[i];
  });
}

/**
 * Reduces the runs whose first row is in a part, and writes them from `place` on; returns their number. The last run
 * may extend past the part.
 */
size_t reduce_runs(const u32* __restrict keys, const u32* __restrict values, u32* __restrict run_keys, u32* __restrict sums,
                   Part part, size_t n, size_t place) {
  const size_t first = place;
  size_t i = part.from;
  while (i < part.to && i > 0 && keys[i] == keys[i - 1]) i++;
  while (i < part.to) {
    const u32 key = keys[i];
    u32 sum = 0;
    do sum += values[i++];
    while (i < n && keys[i] == key);
    run_keys[place] = key;
    sums[place++] = sum;
  }
  return place - first;
}

size_t reduce_by_key(Pool& pool, const u32* keys, const u32* values, u32* run_keys, u32* sums, size_t n) {
  if (pool.size() == 1) return reduce_runs(keys, values, run_keys, sums, {0, n}, n, 0);
  PerThread starts(pool.size());
  pool.run([&](int t) {
    const auto [from, to] = part_of(n, t, pool.size());
    u32 heads = from == 0 && to > 0;
    for (size_t i = std::max<size_t>(from, 1); i < to; i++) heads += keys[i] != keys[i - 1];
    starts[t].value = heads;
  });
  const size_t runs = sums_before(starts);
  pool.run([&](int t) {
    reduce_runs(keys, values, run_keys, sums, part_of(n, t, pool.size()), n, starts[t].value);
  });
  return runs;
}

void histogram(Pool& pool, const u32* x, u32* bins, size_t n) {
  std::vector<u32> tables(size_t(pool.size()) * kPrivateTables * kBins);
  pool.run([&](int t) {
    u32* const table = tables.data() + size_t(t) * kPrivateTables * kBins;
    auto [i, to] = part_of(n, t, pool.size());
    for (; i + kPrivateTables <= to; i += kPrivateTables) {
      for (int k = 0; k < kPrivateTables; k++) table[k * kBins + (x[i + k] >> 24)]++;
    }
    for (; i < to; i++) table[x[i] >> 24]++;
  });
  for (int bin = 0; bin < kBins; bin++) {
    bins[bin] = 0;
    for (size_t table = 0; table < tables.size(); table += kBins) bins[bin] += tables[table + bin];
  }
}

/** Merges two sorted columns. Every thread takes the section of the merge path that gives its part of the result. */
void merge(Pool& pool, const u32* a, size_t a_rows, const u32* b, size_t b_rows, u32* out) {
  const auto rows_of_a = [=](size_t count) {
    size_t low = count > b_rows ? count - b_rows : 0, high = std::min(count, a_rows);
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (b[count - middle - 1] < a[middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  pool.run([&](int t) {
    const auto [from, to] = part_of(a_rows + b_rows, t, pool.size());
    const size_t i = rows_of_a(from), end = rows_of_a(to);
    std::merge(a + i, a + end, b + (from - i), b + (to - end), out + from);
  });
}

/**
 * A set operation on two sorted columns, such as `std::set_union`. On several threads, every part begins at the first of
 * equal keys of both columns, is written where it cannot meet another, and is then moved to its place.
 */
template <class Operation>
size_t set_operation(Pool& pool, const u32* a, size_t a_rows, const u32* b, size_t b_rows, u32* spare, u32* out, Operation operation) {
  if (pool.size() == 1) return operation(a, a + a_rows, b, b + b_rows, out) - out;
  const auto cut = [=, threads = pool.size()](int t) {
    const size_t i = t < threads ? part_of(a_rows, t, threads).from : a_rows;
    if (t == 0 || i == a_rows) return std::pair(a + i, t == 0 ? b : b + b_rows);
    return std::pair(std::lower_bound(a, a + a_rows, a[i]), std::lower_bound(b, b + b_rows, a[i]));
  };
  PerThread starts(pool.size());
  pool.run([&](int t) {
    const auto [i, j] = cut(t);
    const auto [end_i, end_j] = cut(t + 1);
    u32* const to = spare + (i - a) + (j - b);
    starts[t].value = operation(i, end_i, j, end_j, to) - to;
  });
  const size_t total = sums_before(starts);
  pool.run([&](int t) {
    const auto [i, j] = cut(t);
    const size_t from = starts[t].value, to = t + 1 < pool.size() ? starts[t + 1].value : total;
    std::memcpy(out + from, spare + (i - a) + (j - b), (to - from) * sizeof(u32));
  });
  return total;
}

/** A stable radix sort from the lowest digit on, with a table of places for each thread; the payload is optional. */
struct RadixSort {
  std::vector<u32> tables;
  explicit RadixSort(int threads) : tables(size_t(threads) * kDigits) {}

  /** Passes alternate between two pairs of buffers. Their number is even, so the result is in the first pair. */
  template <bool WithPayload>
  void run(Pool& pool, const u32* keys_in, const u32* payload_in, u32* keys, u32* payload, u32* spare_keys, u32* spare_payload,
           size_t n) {
    static_assert(kPasses % 2 == 0);
    for (int pass = 0; pass < kPasses; pass++) {
      const bool forth = pass % 2 == 0;
      const u32* from = pass == 0 ? keys_in : forth ? keys : spare_keys;
      const u32* from_payload = pass == 0 ? payload_in : forth ? payload : spare_payload;
      scatter_digits<WithPayload>(pool, from, from_payload, forth ? spare_keys : keys, forth ? spare_payload : payload,
                                  pass * kDigitBits, n);
    }
  }

 private:
  template <bool WithPayload>
  void scatter_digits(Pool& pool, const u32* __restrict keys, const u32* __restrict payload, u32* __restrict out,
                      u32* __restrict out_payload, int shift, size_t n) {
    pool.run([&](int t) {
      u32* const counts = tables.data() + size_t(t) * kDigits;
      std::fill(counts, counts + kDigits, 0u);
      const auto [from, to] = part_of(n, t, pool.size());
      for (size_t i = from; i < to; i++) counts[keys[i] >> shift & (kDigits - 1)]++;
    });
    u32 sum = 0;
    for (int digit = 0; digit < kDigits; digit++) {
      for (int t = 0; t < pool.size(); t++) sum += std::exchange(tables[size_t(t) * kDigits + digit], sum);
    }
    pool.run([&](int t) {
      u32* const places = tables.data() + size_t(t) * kDigits;
      const auto [from, to] = part_of(n, t, pool.size());
      for (size_t i = from; i < to; i++) {
        const u32 place = places[keys[i] >> shift & (kDigits - 1)]++;
        out[place] = keys[i];
        if constexpr (WithPayload) out_payload[place] = payload[i];
      }
    });
  }
};
