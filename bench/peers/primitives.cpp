// The primitives over u32 columns in memory as a C++ programmer would write them, on one thread and on several.
//
// Build:  g++ -O3 -march=native -std=c++20 -pthread -o primitives primitives.cpp   (with threads.hpp and primitives.hpp beside it)
// Run:    ./primitives [--sizes 2^20,2^24] [--threads 1,2] [--rounds 11] [--only scan,sort]
// Prints: name,n,threads,median_ns,min_ns,max_ns,checksum
//         Every round runs every candidate once, so that disturbances affect all of them alike.
// Serve:  ./primitives --serve
//         Answers a line `name n threads calls` on standard input with a line `nanoseconds checksum`: the mean time of that
//         many successive calls. An unknown request is answered with a line `error …`.
//
// Inputs are the same as in `quadrille bench`: x is a 32-bit hash of the index, order a random permutation, runs of keys 16 long.
// The checksum is FNV-1a over the words of the result. Buffers are allocated and touched before anything is timed.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "primitives.hpp"

using std::string;

constexpr int kWarmUps = 2;

u32 hash(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

/** The place of i in a random permutation of n rows: a bijection of the next power of two, repeated until below n. */
u32 permuted(u32 i, size_t n) {
  const int bits = int(std::bit_width(n - 1)), half = (bits + 1) / 2;
  const u32 mask = u32((std::uint64_t(1) << bits) - 1);
  if (bits == 0) return 0;
  do {
    for (const u32 factor : {0x9e3779b1u, 0x85ebca6bu, 0xc2b2ae35u}) {
      i = (i * factor + 0x7f4a7c15u) & mask;
      i ^= i >> half;
    }
  } while (i >= n);
  return i;
}

/** Words on whole cache lines, touched in advance. */
using Words = std::unique_ptr<u32[], decltype(&std::free)>;
Words words(size_t n) {
  const size_t bytes = (std::max<size_t>(n, 1) * sizeof(u32) + 63) / 64 * 64;
  void* at = std::aligned_alloc(64, bytes);
  if (at == nullptr) throw std::runtime_error("out of memory");
  std::memset(at, 0, bytes);
  return Words(static_cast<u32*>(at), std::free);
}

using Result = std::vector<std::pair<const u32*, size_t>>;

/** Columns of n rows, with room for the results of the primitives. */
struct Columns {
  size_t n;
  Words x, index, runs, order, out, out2, spare, spare2, kept, kept2;
  u32 small[kBins];
  /** The two halves of x, each sorted; created on first use. */
  Words halves{nullptr, std::free}, sets{nullptr, std::free};

  explicit Columns(size_t rows)
      : n(rows), x(words(n)), index(words(n)), runs(words(n)), order(words(n)), out(words(n)), out2(words(n)), spare(words(n)),
        spare2(words(n)), kept(words(n)), kept2(words(n)) {
    for (size_t i = 0; i < n; i++) {
      x[i] = hash(u32(i));
      index[i] = u32(i);
      runs[i] = u32(i) / 16;
      order[i] = permuted(u32(i), n);
    }
  }

  const u32* sorted_halves() {
    if (halves == nullptr) {
      halves = words(n);
      std::copy_n(x.get(), n, halves.get());
      std::sort(halves.get(), halves.get() + n / 2);
      std::sort(halves.get() + n / 2, halves.get() + n);
    }
    return halves.get();
  }

  /** The sorted halves without their lowest bits, so that they share keys and have some twice. */
  const u32* sorted_sets() {
    if (sets == nullptr) {
      const u32* const sorted = sorted_halves();
      sets = words(n);
      std::transform(sorted, sorted + n, sets.get(), [shift = 32 - std::max(1, int(std::bit_width(n - 1)))](u32 x) { return x >> shift; });
    }
    return sets.get();
  }

  Result rows(const Words& words, size_t length) const { return {{words.get(), length}}; }
  Result tables(const Words& first, const Words& second, size_t length) const {
    return {{first.get(), length}, {second.get(), length}};
  }
};

/** map, copyIf (keeps half), sortByKey by 32-bit keys, reduceByKey over runs of 16, exclusive scan. */
Result chain(Pool& pool, RadixSort& sort, Columns& c) {
  const u32* const x = c.x.get();
  u32 *const keys = c.kept.get(), *const payload = c.kept2.get();
  // The map and the predicate are fused with the copy, as a programmer would write them.
  const size_t kept = copy_if(
      pool, c.n, [=](size_t i) { return is_odd(affine(x[i])); },
      [=](size_t place, size_t i) {
        keys[place] = affine(x[i]);
        payload[place] = u32(i);
      });
  u32 *const sorted = c.out.get(), *const rows = c.out2.get();
  sort.run<true>(pool, keys, payload, sorted, rows, c.spare.get(), c.spare2.get(), kept);
  // Runs are known to have 16 rows, so no column of their keys is needed.
  const size_t runs = (kept + 15) / 16;
  u32* const sums = c.spare.get();
  pool.run([&](int t) {
    const auto [from, to] = part_of(runs, t, pool.size());
    for (size_t run = from; run < to; run++) sums[run] = sum_of(rows, run * 16, std::min(kept, run * 16 + 16));
  });
  exclusive_scan(pool, sums, c.kept.get(), runs);
  return c.rows(c.kept, runs);
}

Result call(const string& name, Pool& pool, RadixSort& sort, Columns& c) {
  const size_t n = c.n;
  const u32 *const x = c.x.get(), *const index = c.index.get();
  u32 *const out = c.out.get(), *const out2 = c.out2.get();
  if (name == "copy") return copy(pool, x, out, n), c.rows(c.out, n);
  if (name == "map") return map(pool, x, out, n), c.rows(c.out, n);
  if (name == "reduce") return c.small[0] = reduce(pool, x, n), Result{{c.small, 1}};
  if (name == "scan") return exclusive_scan(pool, x, out, n), c.rows(c.out, n);
  if (name == "copyIf") {
    return c.rows(c.out, copy_if(pool, n, [=](size_t i) { return is_odd(x[i]); }, [=](size_t place, size_t i) { out[place] = x[i]; }));
  }
  if (name == "gather") return gather(pool, index, c.order.get(), out, n), c.rows(c.out, n);
  if (name == "scatter") return scatter(pool, index, c.order.get(), out, n), c.rows(c.out, n);
  if (name == "reduceByKey") return c.tables(c.out, c.out2, reduce_by_key(pool, c.runs.get(), index, out, out2, n));
  if (name == "histogram") return histogram(pool, x, c.small, n), Result{{c.small, kBins}};
  if (name == "sort") return sort.run<false>(pool, x, nullptr, out, nullptr, c.spare.get(), nullptr, n), c.rows(c.out, n);
  if (name == "sortByKey") {
    sort.run<true>(pool, x, index, out, out2, c.spare.get(), c.spare2.get(), n);
    return c.tables(c.out, c.out2, n);
  }
  if (name == "merge") {
    const u32* const halves = c.sorted_halves();
    return merge(pool, halves, n / 2, halves + n / 2, n - n / 2, out), c.rows(c.out, n);
  }
  const auto set_of = [&](auto operation) {
    const u32* const sets = c.sorted_sets();
    return c.rows(c.out, set_operation(pool, sets, n / 2, sets + n / 2, n - n / 2, c.spare.get(), out, operation));
  };
  if (name == "setUnion") return set_of([](auto... parts) { return std::set_union(parts...); });
  if (name == "setIntersection") return set_of([](auto... parts) { return std::set_intersection(parts...); });
  if (name == "setDifference") return set_of([](auto... parts) { return std::set_difference(parts...); });
  if (name == "setSymmetricDifference") return set_of([](auto... parts) { return std::set_symmetric_difference(parts...); });
  if (name == "chain") return chain(pool, sort, c);
  throw std::runtime_error("no primitive " + name);
}

const std::vector<string> kNames = {"copy", "map", "reduce", "scan", "copyIf", "gather", "scatter",
                                    "reduceByKey", "histogram", "sort", "sortByKey", "merge", "setUnion", "setIntersection",
                                    "setDifference", "setSymmetricDifference", "chain"};

struct Timed { double nanoseconds; u32 checksum; };

u32 checksum_of(const Result& result) {
  u32 sum = 2166136261u;
  for (const auto& [words, length] : result) {
    for (size_t i = 0; i < length; i++) sum = (sum ^ words[i]) * 16777619u;
  }
  return sum;
}

class Machine {
 public:
  /** The mean time of a call, over `calls` successive calls. */
  Timed time(const string& name, size_t n, int threads, int calls) {
    if (columns_ == nullptr || columns_->n != n) {
      columns_.reset();
      columns_ = std::make_unique<Columns>(n);
    }
    auto& pool = pools_[threads];
    if (pool == nullptr) pool = std::make_unique<Pool>(threads);
    RadixSort sort(threads);
    Result result;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++) result = call(name, *pool, sort, *columns_);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return {took.count() / calls, checksum_of(result)};
  }

 private:
  std::map<int, std::unique_ptr<Pool>> pools_;
  std::unique_ptr<Columns> columns_;
};

/** A number, or a power such as 2^20. */
size_t number(const string& text) {
  const auto hat = text.find('^');
  const size_t base = std::stoull(text);
  if (hat == string::npos) return base;
  size_t power = 1;
  for (int left = std::stoi(text.substr(hat + 1)); left > 0; left--) power *= base;
  return power;
}

std::vector<string> split(const string& list) {
  std::vector<string> parts;
  std::stringstream stream(list);
  for (string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

int serve(Machine& machine) {
  for (string line; std::getline(std::cin, line);) {
    std::stringstream words(line);
    string name;
    size_t n = 0;
    int threads = 0, calls = 0;
    words >> name >> n >> threads >> calls;
    try {
      if (!words || threads < 1 || calls < 1 || n >= size_t(1) << 32) throw std::runtime_error("not a request: " + line);
      const Timed timed = machine.time(name, n, threads, calls);
      std::printf("%.1f %u\n", timed.nanoseconds, timed.checksum);
    } catch (const std::exception& error) {
      std::printf("error %s\n", error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}

struct Candidate { string name; int threads; u32 checksum; std::vector<double> times; };

void measure(Machine& machine, size_t n, const std::vector<string>& names, const std::vector<string>& threads, int rounds) {
  std::vector<Candidate> candidates;
  for (const auto& name : names) {
    for (const auto& count : threads) candidates.push_back({name, int(number(count)), 0, {}});
  }
  for (int round = -kWarmUps; round < rounds; round++) {
    for (auto& [name, count, checksum, times] : candidates) {
      const Timed timed = machine.time(name, n, count, 1);
      checksum = timed.checksum;
      if (round >= 0) times.push_back(timed.nanoseconds);
    }
  }
  for (auto& [name, count, checksum, times] : candidates) {
    std::sort(times.begin(), times.end());
    std::printf("%s,%zu,%d,%.0f,%.0f,%.0f,%u\n", name.c_str(), n, count, times[times.size() / 2], times.front(), times.back(), checksum);
  }
  std::fflush(stdout);
}

int main(int count, char** arguments) try {
  Machine machine;
  std::map<string, string> options = {{"--sizes", "2^20,2^24"}, {"--rounds", "11"}, {"--only", ""}};
  options["--threads"] = "1," + std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < count; i++) {
    const string option = arguments[i];
    if (option == "--serve") return serve(machine);
    if (!options.contains(option) || i + 1 == count) throw std::runtime_error("no option " + option + ", or no value for it");
    options[option] = arguments[++i];
  }
  const auto only = options["--only"].empty() ? kNames : split(options["--only"]);
  std::printf("name,n,threads,median_ns,min_ns,max_ns,checksum\n");
  for (const auto& n : split(options["--sizes"])) {
    measure(machine, number(n), only, split(options["--threads"]), std::max(1, int(number(options["--rounds"]))));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
