// The primitives by Thrust and CUB, the usual choice on NVIDIA, over u32 columns on the same card.
//
// Build:  nvcc -O3 -std=c++17 -arch=native --extended-lambda -o primitives primitives.cu
//         (without a card: -arch=sm_90 for an H100 or H200, and so on)
// Run:    ./primitives [log2 of sizes, default 10 16 20 24 26 28]
// Prints: name,n,library,median_ns,min_ns,max_ns,checksum     of 11 rounds, in which all candidates take turns
// Serve:  ./primitives --serve
//         Answers a line `name n library calls [warm]` on standard input with a line `nanoseconds checksum`: the mean time of
//         a call, by CUDA's events; `warm` means that the card has just been busy. An unknown request is answered with a line
//         `error …`.
//
// Libraries: thrust is the call as a typical user writes it, with its own allocations and synchronisation; only the chain caches
// its storage. cub is the device-wide call with preallocated storage. Inputs and checksums are the same as in primitives.cpp.
#include <thrust/binary_search.h>
#include <thrust/reverse.h>
#include <thrust/scatter.h>
#include <thrust/set_operations.h>

#include <iostream>
#include <sstream>

#include "cuda.hpp"

constexpr int kRounds = 11;
constexpr int kWarmUps = 2;
constexpr int kBins = 256;
constexpr std::size_t kSearched = 1 << 16;

struct Same { __host__ __device__ u32 operator()(u32 i) const { return i; } };
struct LastBit { __host__ __device__ u32 operator()(u32 x) const { return x & 1u; } };
struct Odd { __host__ __device__ bool operator()(u32 x) const { return x & 1u; } };
struct HighBits {
  int shift;
  __host__ __device__ u32 operator()(u32 x) const { return x >> shift; }
};
struct HighByte { __host__ __device__ int operator()(u32 x) const { return int(x >> 24); } };

// ------------------------------------------------------------------------------------------------------------- candidates

struct Columns {
  std::size_t n;
  Column x, index, order, runs, out, out2, count;
  /** The halves of x, each sorted, and sorted keys to search in. */
  Column low, high, keys;
  /** The halves without their lowest bits, so that they share keys and have some twice. */
  Column low_set, high_set;
  explicit Columns(std::size_t rows)
      : n(rows), x(n), index(n), order(n), runs(n), out(n), out2(n), count(std::max(2, kBins)),
        low(n / 2), high(n - n / 2), keys(std::min(n, kSearched)), low_set(n / 2), high_set(n - n / 2) {
    thrust::tabulate(x.begin(), x.end(), Hash());
    thrust::tabulate(index.begin(), index.end(), Same());
    thrust::tabulate(order.begin(), order.end(), Permuted(n));
    thrust::tabulate(runs.begin(), runs.end(), RunOf());
    for (auto [from, to] : {std::pair{&low, x.begin()}, {&high, x.begin() + n / 2}, {&keys, x.begin()}}) {
      thrust::copy(to, to + from->size(), from->begin());
      thrust::sort(from->begin(), from->end());
    }
    int shift = 31;
    for (std::size_t span = n - 1; span > 1; span >>= 1) shift--;
    thrust::transform(low.begin(), low.end(), low_set.begin(), HighBits{shift});
    thrust::transform(high.begin(), high.end(), high_set.begin(), HighBits{shift});
  }
};

using Result = std::vector<std::pair<const Column*, std::size_t>>;

/** A timed call, the location of its result, and an untimed step that restores its input before each call. */
struct Candidate {
  std::function<void()> run;
  std::function<Result()> result;
  std::function<void()> before = nullptr;
};

Candidate thrust_candidate(const string& name, Columns& c) {
  const std::size_t n = c.n;
  const auto out = [&c, n] { return Result{{&c.out, n}}; };
  if (name == "copy") return {[&c, n] { check(cudaMemcpyAsync(at(c.out), at(c.x), n * sizeof(u32), cudaMemcpyDeviceToDevice)); }, out};
  if (name == "map") return {[&c] { thrust::transform(c.x.begin(), c.x.end(), c.out.begin(), Affine()); }, out};
  if (name == "reduce") {
    auto sum = std::make_shared<u32>(0);
    return {[&c, sum] { *sum = thrust::reduce(c.x.begin(), c.x.end()); },
            [&c, sum] { return c.count[0] = *sum, Result{{&c.count, 1}}; }};
  }
  if (name == "scan") return {[&c] { thrust::exclusive_scan(c.x.begin(), c.x.end(), c.out.begin()); }, out};
  if (name == "copyIf") {
    auto kept = std::make_shared<std::size_t>(0);
    return {[&c, kept] { *kept = thrust::copy_if(c.x.begin(), c.x.end(), c.out.begin(), Odd()) - c.out.begin(); },
            [&c, kept] { return Result{{&c.out, *kept}}; }};
  }
  if (name == "gather") return {[&c] { thrust::gather(c.order.begin(), c.order.end(), c.index.begin(), c.out.begin()); }, out};
  if (name == "scatter") return {[&c] { thrust::scatter(c.index.begin(), c.index.end(), c.order.begin(), c.out.begin()); }, out};
  if (name == "reduceByKey") {
    auto runs = std::make_shared<std::size_t>(0);
    return {[&c, runs] {
              *runs = thrust::reduce_by_key(c.runs.begin(), c.runs.end(), c.index.begin(), c.out.begin(), c.out2.begin()).first - c.out.begin();
            },
            [&c, runs] { return Result{{&c.out, *runs}, {&c.out2, *runs}}; }};
  }
  // Thrust sorts in place, so the input is restored before each call, untimed.
  if (name == "sort") {
    return {[&c] { thrust::sort(c.out.begin(), c.out.end()); }, out, [&c] { thrust::copy(c.x.begin(), c.x.end(), c.out.begin()); }};
  }
  if (name == "sortByKey") {
    return {[&c] { thrust::sort_by_key(c.out.begin(), c.out.end(), c.out2.begin()); },
            [&c, n] { return Result{{&c.out, n}, {&c.out2, n}}; },
            [&c] {
              thrust::copy(c.x.begin(), c.x.end(), c.out.begin());
              thrust::copy(c.index.begin(), c.index.end(), c.out2.begin());
            }};
  }
  if (name == "reverse") return {[&c] { thrust::reverse_copy(c.x.begin(), c.x.end(), c.out.begin()); }, out};
  if (name == "lowerBound") {
    return {[&c] { thrust::lower_bound(c.keys.begin(), c.keys.end(), c.x.begin(), c.x.end(), c.out.begin()); }, out};
  }
  const auto set_of = [&c](auto operation) {
    auto kept = std::make_shared<std::size_t>(0);
    return Candidate{[&c, kept, operation] {
                       *kept = operation(c.low_set.begin(), c.low_set.end(), c.high_set.begin(), c.high_set.end(), c.out.begin()) - c.out.begin();
                     },
                     [&c, kept] { return Result{{&c.out, *kept}}; }};
  };
  if (name == "setUnion") return set_of([](auto... parts) { return thrust::set_union(parts...); });
  if (name == "setIntersection") return set_of([](auto... parts) { return thrust::set_intersection(parts...); });
  if (name == "setDifference") return set_of([](auto... parts) { return thrust::set_difference(parts...); });
  if (name == "setSymmetricDifference") return set_of([](auto... parts) { return thrust::set_symmetric_difference(parts...); });
  if (name == "chain") {
    auto storage = std::make_shared<Cache>();
    auto sums = std::make_shared<std::size_t>(0);
    return {[&c, storage, sums] { *sums = cached_chain(c.x, *storage, at(c.out)); }, [&c, sums] { return Result{{&c.out, *sums}}; }};
  }
  throw std::runtime_error("no primitive " + name + " of Thrust");
}

Candidate cub_candidate(const string& name, Columns& c) {
  const std::size_t n = c.n;
  if (n > 0x7fffffffu) throw std::runtime_error("CUB is asked for at most 2^31 - 1 elements here");
  const int rows = int(n);
  u32 *const x = at(c.x), *const index = at(c.index), *const runs = at(c.runs), *const o = at(c.out), *const o2 = at(c.out2), *const k = at(c.count);
  const auto out = [&c, n] { return Result{{&c.out, n}}; };
  const auto counted = [&c] { return std::size_t(u32(c.count[0])); };
  if (name == "reduce") {
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceReduce::Sum(t, b, x, k, rows); }), [&c] { return Result{{&c.count, 1}}; }};
  }
  if (name == "scan") return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceScan::ExclusiveSum(t, b, x, o, rows); }), out};
  if (name == "copyIf") {
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceSelect::If(t, b, x, o, k, rows, Odd()); }),
            [&c, counted] { return Result{{&c.out, counted()}}; }};
  }
  if (name == "reduceByKey") {
    return {with_storage([=](void* t, std::size_t& b) {
              return cub::DeviceReduce::ReduceByKey(t, b, runs, o, index, o2, k, cuda::std::plus<>{}, rows);
            }),
            [&c, counted] { return Result{{&c.out, counted()}, {&c.out2, counted()}}; }};
  }
  if (name == "histogram") {
    // The upper end of 256 even bins over all 32 bits exceeds u32, so the high bytes are counted instead.
    const auto bytes = thrust::make_transform_iterator(static_cast<const u32*>(x), HighByte());
    return {with_storage([=](void* t, std::size_t& b) {
              return cub::DeviceHistogram::HistogramEven(t, b, bytes, reinterpret_cast<int*>(k), kBins + 1, 0, kBins, rows);
            }),
            [&c] { return Result{{&c.count, std::size_t(kBins)}}; }};
  }
  if (name == "sort") return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceRadixSort::SortKeys(t, b, x, o, rows); }), out};
  if (name == "sortByKey") {
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceRadixSort::SortPairs(t, b, x, o, index, o2, rows); }),
            [&c, n] { return Result{{&c.out, n}, {&c.out2, n}}; }};
  }
  if (name == "count") {
    const auto bits = thrust::make_transform_iterator(static_cast<const u32*>(x), LastBit());
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceReduce::Sum(t, b, bits, k, rows); }), [&c] { return Result{{&c.count, 1}}; }};
  }
  if (name == "minElement") {
    auto* const place = reinterpret_cast<cuda::std::int64_t*>(o);
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceReduce::ArgMin(t, b, x, k, place, cuda::std::int64_t(rows)); }),
            [&c] { return Result{{&c.count, 1}, {&c.out, 1}}; }};
  }
  if (name == "adjacentDifference") {
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceAdjacentDifference::SubtractLeftCopy(t, b, x, o, rows); }), out};
  }
  // CUB puts the rejected rows at the end, in reverse order.
  if (name == "partition") return {with_storage([=](void* t, std::size_t& b) { return cub::DevicePartition::If(t, b, x, o, k, rows, Odd()); }), out};
  if (name == "unique") {
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceSelect::Unique(t, b, runs, o, k, rows); }),
            [&c, counted] { return Result{{&c.out, counted()}}; }};
  }
  if (name == "runLengthEncode") {
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceRunLengthEncode::Encode(t, b, runs, o, o2, k, rows); }),
            [&c, counted] { return Result{{&c.out, counted()}, {&c.out2, counted()}}; }};
  }
  if (name == "segmentedScan") {
    const auto segments = thrust::make_transform_iterator(thrust::make_counting_iterator(u32(0)), RunOf());
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceScan::InclusiveSumByKey(t, b, segments, x, o, rows); }), out};
  }
  if (name == "merge") {
    u32 *const low = at(c.low), *const high = at(c.high);
    const int half = rows / 2;
    return {with_storage([=](void* t, std::size_t& b) { return cub::DeviceMerge::MergeKeys(t, b, low, half, high, rows - half, o); }), out};
  }
  throw std::runtime_error("no primitive " + name + " of CUB");
}

// ----------------------------------------------------------------------------------------------------------------- timing

u32 checksum_of(const Result& result) {
  u32 sum = 2166136261u;
  for (const auto& [column, length] : result) {
    std::vector<u32> words(length);
    thrust::copy(column->begin(), column->begin() + std::ptrdiff_t(length), words.begin());
    for (const u32 word : words) sum = (sum ^ word) * 16777619u;
  }
  return sum;
}

struct Timed { double nanoseconds; u32 checksum; };

class Machine {
 public:
  Machine() {
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&stop_));
  }

  /** The mean time of a call, over `calls` successive calls; the checksum is zero unless requested. */
  Timed time(const string& name, std::size_t n, const string& library, int calls, bool with_checksum, bool is_warm = false) {
    if (columns_ == nullptr || columns_->n != n) {
      candidates_.clear();
      columns_.reset();
      columns_ = std::make_unique<Columns>(n);
    }
    auto known = candidates_.find(library + " " + name);
    if (known == candidates_.end()) {
      if (library != "thrust" && library != "cub") throw std::runtime_error("no library " + library);
      auto made = library == "cub" ? cub_candidate(name, *columns_) : thrust_candidate(name, *columns_);
      known = candidates_.emplace(library + " " + name, std::move(made)).first;
    }
    const bool is_busy = last_use_ != Clock::time_point() && Clock::now() - last_use_ < std::chrono::milliseconds(20);
    if (!is_warm && !is_busy) heat(heater_);
    const double nanoseconds = calls_of(known->second, calls) / calls;
    last_use_ = Clock::now();
    const u32 checksum = with_checksum ? checksum_of(known->second.result()) : 0;
    return {nanoseconds, checksum};
  }

 private:
  /** Records a single pair of events around all calls, or a pair around each call whose input must be restored. */
  double calls_of(const Candidate& candidate, int calls) {
    if (candidate.before == nullptr) {
      return between([&] {
        for (int call = 0; call < calls; call++) candidate.run();
      });
    }
    double sum = 0;
    for (int call = 0; call < calls; call++) {
      candidate.before();
      sum += between(candidate.run);
    }
    return sum;
  }

  template <class F> double between(F work) {
    check(cudaEventRecord(start_));
    work();
    check(cudaEventRecord(stop_));
    check(cudaEventSynchronize(stop_));
    check(cudaGetLastError());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return double(milliseconds) * 1e6;
  }

  cudaEvent_t start_, stop_;
  Clock::time_point last_use_;
  Column heater_;
  std::unique_ptr<Columns> columns_;
  std::map<string, Candidate> candidates_;
};

int serve(Machine& machine) {
  // Only the first call of each kind is checked; later ones are only timed.
  string checked;
  u32 checksum = 0;
  for (string line; std::getline(std::cin, line);) {
    std::stringstream words(line);
    string name, library, state;
    std::size_t n = 0;
    int calls = 0;
    words >> name >> n >> library >> calls;
    try {
      if (!words || calls < 1 || n < 1 || n >= std::size_t(1) << 32) throw std::runtime_error("not a request: " + line);
      words >> state;
      const string key = name + " " + library + " " + std::to_string(n);
      const bool is_new = key != checked;
      const Timed timed = machine.time(name, n, library, calls, is_new, state == "warm");
      if (is_new) checksum = timed.checksum;
      checked = key;
      std::printf("%.1f %u\n", timed.nanoseconds, checksum);
    } catch (const std::exception& error) {
      std::printf("error %s\n", error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}

const std::vector<std::pair<string, string>> kCandidates = {
    {"copy", "thrust"}, {"map", "thrust"}, {"reduce", "thrust"}, {"reduce", "cub"}, {"scan", "thrust"}, {"scan", "cub"},
    {"copyIf", "thrust"}, {"copyIf", "cub"}, {"gather", "thrust"}, {"scatter", "thrust"}, {"reduceByKey", "thrust"},
    {"reduceByKey", "cub"}, {"histogram", "cub"}, {"sort", "thrust"}, {"sort", "cub"}, {"sortByKey", "thrust"},
    {"sortByKey", "cub"}, {"chain", "thrust"}, {"reverse", "thrust"}, {"lowerBound", "thrust"}, {"count", "cub"},
    {"minElement", "cub"}, {"adjacentDifference", "cub"}, {"partition", "cub"}, {"unique", "cub"},
    {"runLengthEncode", "cub"}, {"segmentedScan", "cub"}, {"merge", "cub"}, {"setUnion", "thrust"}, {"setIntersection", "thrust"},
    {"setDifference", "thrust"}, {"setSymmetricDifference", "thrust"}};

void measure(Machine& machine, std::size_t n) {
  std::vector<std::vector<double>> times(kCandidates.size());
  std::vector<u32> checksums(kCandidates.size());
  for (int round = -kWarmUps; round < kRounds; round++) {
    for (std::size_t i = 0; i < kCandidates.size(); i++) {
      const auto& [name, library] = kCandidates[i];
      const Timed timed = machine.time(name, n, library, 1, round == -kWarmUps);
      if (round == -kWarmUps) checksums[i] = timed.checksum;
      if (round >= 0) times[i].push_back(timed.nanoseconds);
    }
  }
  for (std::size_t i = 0; i < kCandidates.size(); i++) {
    std::sort(times[i].begin(), times[i].end());
    std::printf("%s,%zu,%s,%.0f,%.0f,%.0f,%u\n", kCandidates[i].first.c_str(), n, kCandidates[i].second.c_str(),
                times[i][kRounds / 2], times[i].front(), times[i].back(), checksums[i]);
  }
  std::fflush(stdout);
}

int main(int count, char** arguments) try {
  Machine machine;
  if (count == 2 && string(arguments[1]) == "--serve") return serve(machine);
  std::vector<int> powers = {10, 16, 20, 24, 26, 28};
  if (count > 1) powers.clear();
  for (int i = 1; i < count; i++) powers.push_back(std::stoi(arguments[i]));
  std::printf("name,n,library,median_ns,min_ns,max_ns,checksum\n");
  for (const int power : powers) measure(machine, std::size_t(1) << power);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
