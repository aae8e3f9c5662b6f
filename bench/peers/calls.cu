// The time that a caller of CUDA waits, by the host's clock: the chain, loops and transfers of ../primitives/whole-calls.ts.
//
// Build:  nvcc -O3 -std=c++17 -arch=native --extended-lambda -o calls calls.cu
//         (without a card: -arch=sm_90 for an H100 or H200, and so on)
// Run:    ./calls [--rounds 1000] [log2 of sizes, default 10 14 16 18 20 22]
// Prints: a line of JSON for each measurement: what, n, library, way, ms (the median of 7), min, max, checksum, and the
//         bytes of a transfer. The checksum is FNV-1a over the words of the result.
//
// Libraries of the chain (map, copyIf, sortByKey, reduceByKey, exclusiveScan):
//   thrust              calls as a typical user writes them: a vector for each result, the default policy, its own allocations
//   thrust, cached      memory reused between calls, the map fused, and waits only for counts
//   cub graph           device calls in a CUDA graph. Counts stay on the device. Calls that cannot take a device count
//                       process the full capacity, with padding keys behind the last row
//   cub graph, counted  the same with counts that the host knows in advance: the minimum for CUB
// Libraries of the loops (a round is gather, then map):
//   thrust              the two calls and, if a number is read each round, a reduction
//   thrust, cached      one fused call that does not wait; memory reused between calls
//   cuda graph          kernels in CUDA graphs: 100 rounds at a time, one round if a number is read, a while node for a stop rule
#include <thrust/iterator/permutation_iterator.h>

#include <cstdlib>
#include <cstring>

#include "cuda.hpp"

constexpr int kTimes = 7;
constexpr int kInARow = 50;
constexpr int kBlock = 256;
constexpr int kRoundsOfGraph = 100;
constexpr std::size_t kLargestLoop = std::size_t(1) << 20;

// ----------------------------------------------------------------------------------------------------------------- timing

struct Spread { double median, min, max; };

/** Milliseconds per call for `calls` successive calls, until the device has finished them; `before` is not timed. */
Spread spread_of(int calls, const std::function<void()>& before, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = -1; i < kTimes; i++) {
    before();
    check(cudaDeviceSynchronize());
    const auto from = Clock::now();
    for (int done = 0; done < calls; done++) call();
    check(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - from).count() / calls;
    if (i >= 0) times.push_back(ms);
  }
  check(cudaGetLastError());
  std::sort(times.begin(), times.end());
  return {times[kTimes / 2], times.front(), times.back()};
}

void print(const string& what, std::size_t n, const string& library, const string& way, const Spread& ms, const string& more) {
  std::printf("{\"what\":\"%s\",\"n\":%zu,\"library\":\"%s\",\"way\":\"%s\",\"ms\":%.6f,\"min\":%.6f,\"max\":%.6f,%s}\n",
              what.c_str(), n, library.c_str(), way.c_str(), ms.median, ms.min, ms.max, more.c_str());
  std::fflush(stdout);
}

string checksum_of(const std::vector<u32>& words) {
  u32 sum = 2166136261u;
  for (const u32 word : words) sum = (sum ^ word) * 16777619u;
  return "\"checksum\":" + std::to_string(sum);
}

std::vector<u32> on_host(const u32* words, std::size_t length) {
  std::vector<u32> host(length);
  check(cudaMemcpy(host.data(), words, 4 * length, cudaMemcpyDeviceToHost));
  return host;
}

void heat() {
  Column words;
  heat(words);
}

// ----------------------------------------------------------------------------------------------------------------- graphs

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_;
};

/** An instantiated CUDA graph. */
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& record) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    record();
    check(cudaStreamEndCapture(stream, &graph_));
    check(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  /** A graph whose nodes are added explicitly. */
  Graph(cudaStream_t stream, const std::function<void(cudaGraph_t)>& build) : stream_(stream) {
    check(cudaGraphCreate(&graph_, 0));
    build(graph_);
    check(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void launch() const { check(cudaGraphLaunch(executable_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// ------------------------------------------------------------------------------------------------------------------ chain

auto rows_of(u32* first, u32* second) {
  return thrust::make_zip_iterator(thrust::make_tuple(thrust::device_pointer_cast(first), thrust::device_pointer_cast(second)));
}

/** The chain as a typical user of Thrust writes it, with a new vector for each result. */
Column thrust_chain(const Column& x) {
  const std::size_t n = x.size();
  Column key(n), kept_key(n), kept_row(n);
  thrust::transform(x.begin(), x.end(), key.begin(), Affine());
  const auto rows = thrust::make_zip_iterator(thrust::make_tuple(key.begin(), thrust::make_counting_iterator(u32(0))));
  const auto kept = thrust::make_zip_iterator(thrust::make_tuple(kept_key.begin(), kept_row.begin()));
  const auto count = thrust::copy_if(rows, rows + n, kept, OddKey()) - kept;
  thrust::sort_by_key(kept_key.begin(), kept_key.begin() + count, kept_row.begin());
  Column sums((count + kRun - 1) / kRun), out(sums.size());
  thrust::reduce_by_key(runs(), runs() + count, kept_row.begin(), thrust::make_discard_iterator(), sums.begin());
  thrust::exclusive_scan(sums.begin(), sums.end(), out.begin());
  return out;
}

/** Element i of `rows` if i is below a count that is on the device, otherwise 0. */
struct UpTo {
  const u32* rows;
  const u32* count;
  __host__ __device__ u32 operator()(u32 i) const { return i < *count ? rows[i] : 0; }
};

/** The steps of the chain with their storage; `known` is the number of kept rows if the host knows it, else 0. */
std::vector<std::function<void()>> cub_chain(cudaStream_t s, u32* x, Column* c, u32* count, u32* out, int n, int known) {
  u32 *const key = at(c[0]), *const row = at(c[1]), *const key2 = at(c[2]), *const row2 = at(c[3]), *const sums = at(c[4]);
  const int length = known > 0 ? known : n;
  const auto in = thrust::make_zip_iterator(
      thrust::make_tuple(thrust::make_transform_iterator(thrust::device_pointer_cast(x), Affine()), thrust::make_counting_iterator(u32(0))));
  const auto kept = rows_of(key, row);
  const auto sorted = thrust::make_transform_iterator(thrust::make_counting_iterator(u32(0)), UpTo{row2, count});
  const auto places = runs();
  std::vector<std::function<void()>> steps;
  // The greatest key is padding. Sorting is stable, so kept rows with the same key come first.
  if (known == 0) steps.push_back([=] { check(cudaMemsetAsync(key, 0xff, 4 * std::size_t(n), s)); });
  steps.push_back(with_storage([=](void* t, std::size_t& b) { return cub::DeviceSelect::If(t, b, in, kept, count, n, OddKey(), s); }));
  steps.push_back(with_storage([=](void* t, std::size_t& b) {
    return cub::DeviceRadixSort::SortPairs(t, b, key, key2, row, row2, length, 0, 32, s);
  }));
  steps.push_back(with_storage([=](void* t, std::size_t& b) {
    return cub::DeviceReduce::ReduceByKey(t, b, places, thrust::make_discard_iterator(), sorted, sums, count + 1,
                                          cuda::std::plus<>{}, length, s);
  }));
  steps.push_back(with_storage([=](void* t, std::size_t& b) {
    return cub::DeviceScan::ExclusiveSum(t, b, sums, out, (length + kRun - 1) / kRun, s);
  }));
  return steps;
}

void measure_chain(std::size_t n) {
  const auto nothing = [] {};
  const auto rows = [&](const string& library, const std::function<void()>& call, const std::function<std::vector<u32>()>& result) {
    heat();
    const Spread many = spread_of(kInARow, nothing, call), one = spread_of(1, nothing, call);
    const string sum = checksum_of(result());
    print("chain", n, library, "in a row", many, sum);
    print("chain", n, library, "alone, until done", one, sum);
  };
  Column x(n), out(n);
  thrust::tabulate(x.begin(), x.end(), Hash());

  Column made;
  rows("thrust", [&] { made = thrust_chain(x); }, [&] { return on_host(at(made), made.size()); });
  Cache cache;
  std::size_t length = 0;
  rows("thrust, cached", [&] { length = cached_chain(x, cache, at(out)); }, [&] { return on_host(at(out), length); });

  const Stream stream;
  Column between[5] = {Column(n), Column(n), Column(n), Column(n), Column(n / kRun + 1)};
  Column count(2);
  int known = 0;
  for (const string library : {"cub graph", "cub graph, counted"}) {
    const auto steps = cub_chain(stream, at(x), between, at(count), at(out), int(n), known);
    const Graph graph(stream, [&] { for (const auto& step : steps) step(); });
    rows(library, [&] { graph.launch(); }, [&] {
      known = int(on_host(at(count), 1)[0]);
      return on_host(at(out), (known + kRun - 1) / kRun);
    });
  }
}

// ------------------------------------------------------------------------------------------------------------------ loops

__global__ void gather_and_map(const u32* from, const u32* order, u32* to, u32 n) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = affine(from[order[i]]);
}

/** The two halves of a state, used alternately: even rounds read the first. */
struct Turns {
  u32* state[2];
  const u32* round;
  __device__ u32* from() const { return state[*round & 1]; }
  __device__ u32* to() const { return state[(*round & 1) ^ 1]; }
  /** Element i of the state that this round writes. */
  __device__ u32 operator()(u32 i) const { return to()[i]; }
};

__global__ void gather_and_map_in_turn(Turns turns, const u32* order, u32 n) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) turns.to()[i] = affine(turns.from()[order[i]]);
}

/** Ends the loop after the round with the sought sum, or after the maximum number of rounds. */
__global__ void stop_rule(cudaGraphConditionalHandle handle, const u32* sum, u32 sought, u32* round, u32 most) {
  *round += 1;
  cudaGraphSetConditional(handle, *sum != sought && *round < most ? 1 : 0);
}

__global__ void begin(u32* round) { *round = 0; }

struct Loop {
  std::size_t n;
  int rounds;
  /** The initial state, the two halves of the current one, and the permutation. */
  Column start, even, odd, order;
  Loop(int log2, int count) : n(std::size_t(1) << log2), rounds(count), start(n), even(n), odd(n), order(n) {
    thrust::tabulate(start.begin(), start.end(), Hash());
    thrust::tabulate(order.begin(), order.end(), Permuted(n));
  }
  void restart() { check(cudaMemcpy(at(even), at(start), 4 * n, cudaMemcpyDeviceToDevice)); }
  Column& half(int round) { return round % 2 == 0 ? even : odd; }
  u32 blocks() const { return u32((n + kBlock - 1) / kBlock); }
  /** The sum after `count` rounds; the permutation does not change it. */
  u32 sum_after(int count) const {
    u32 sum = 0;
    for (u32 i = 0; i < n; i++) sum += hash(i);
    for (int i = 0; i < count; i++) sum = sum * 2654435761u + u32(n);
    return sum;
  }
};

/** Times a whole loop and prints its time per round. The checksum covers the state, or all numbers that were read. */
void measure_loop(const string& what, const string& library, Loop& loop, const std::function<void()>& all,
                  const std::function<std::vector<u32>()>& result) {
  heat();
  Spread ms = spread_of(1, [&] { loop.restart(); }, all);
  for (double* each : {&ms.median, &ms.min, &ms.max}) *each /= loop.rounds;
  print(what, loop.n, library, "a round", ms, checksum_of(result()) + ",\"rounds\":" + std::to_string(loop.rounds));
}

void thrust_round(Loop& loop) {
  thrust::gather(loop.order.begin(), loop.order.end(), loop.even.begin(), loop.odd.begin());
  thrust::transform(loop.odd.begin(), loop.odd.end(), loop.even.begin(), Affine());
}

template <class Policy> void fused_round(const Policy& policy, Loop& loop, int round) {
  const auto from = thrust::make_permutation_iterator(loop.half(round).begin(), loop.order.begin());
  thrust::transform(policy, from, from + loop.n, loop.half(round + 1).begin(), Affine());
}

void measure_plain_loop(Loop& loop) {
  const auto state = [&] { return on_host(at(loop.half(loop.rounds)), loop.n); };
  measure_loop("loop", "thrust", loop, [&] { for (int i = 0; i < loop.rounds; i++) thrust_round(loop); },
               [&] { return on_host(at(loop.even), loop.n); });
  measure_loop("loop", "thrust, cached", loop, [&] {
    for (int i = 0; i < loop.rounds; i++) fused_round(thrust::cuda::par_nosync, loop, i);
  }, state);

  const Stream stream;
  const auto round = [&](int i) {
    gather_and_map<<<loop.blocks(), kBlock, 0, stream>>>(at(loop.half(i)), at(loop.order), at(loop.half(i + 1)), u32(loop.n));
  };
  const Graph graph(stream, [&] { for (int i = 0; i < kRoundsOfGraph; i++) round(i); });
  measure_loop("loop", "cuda graph", loop, [&] {
    int i = 0;
    for (; i + kRoundsOfGraph <= loop.rounds; i += kRoundsOfGraph) graph.launch();
    for (; i < loop.rounds; i++) round(i);
  }, state);
}

void measure_loop_with_number(Loop& loop) {
  std::vector<u32> numbers(std::size_t(loop.rounds));
  const auto read = [&] { return numbers; };
  const string what = "loop, a number read each round";
  measure_loop(what, "thrust", loop, [&] {
    for (u32& number : numbers) {
      thrust_round(loop);
      number = thrust::reduce(loop.even.begin(), loop.even.end());
    }
  }, read);
  Cache cache;
  measure_loop(what, "thrust, cached", loop, [&] {
    const auto policy = thrust::cuda::par_nosync(cache);
    for (int i = 0; i < loop.rounds; i++) {
      fused_round(policy, loop, i);
      const Column& now = loop.half(i + 1);
      numbers[std::size_t(i)] = thrust::reduce(policy, now.begin(), now.end());
    }
  }, read);

  const Stream stream;
  Column sum(1);
  u32* pinned = nullptr;
  check(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4));
  std::unique_ptr<Graph> graphs[2];
  for (int i = 0; i < 2; i++) {
    u32 *const to = at(loop.half(i + 1)), *const into = at(sum);
    const int n = int(loop.n);
    const cudaStream_t s = stream;
    const auto add = with_storage([=](void* t, std::size_t& b) { return cub::DeviceReduce::Sum(t, b, to, into, n, s); });
    graphs[i] = std::make_unique<Graph>(stream, [&] {
      gather_and_map<<<loop.blocks(), kBlock, 0, stream>>>(at(loop.half(i)), at(loop.order), to, u32(n));
      add();
      check(cudaMemcpyAsync(pinned, into, 4, cudaMemcpyDeviceToHost, stream));
    });
  }
  measure_loop(what, "cuda graph", loop, [&] {
    for (int i = 0; i < loop.rounds; i++) {
      graphs[i % 2]->launch();
      check(cudaStreamSynchronize(stream));
      numbers[std::size_t(i)] = *pinned;
    }
  }, read);
  check(cudaFreeHost(pinned));
}

void measure_loop_with_stop_rule(Loop& loop) {
  const u32 sought = loop.sum_after(loop.rounds);
  const string what = "loop with a stop rule";
  const Stream stream;
  Column cells(2);
  u32 *const sum = at(cells), *const round = at(cells) + 1;
  const Turns turns{{at(loop.even), at(loop.odd)}, round};
  const int n = int(loop.n);
  const cudaStream_t s = stream;
  const auto written = thrust::make_transform_iterator(thrust::make_counting_iterator(u32(0)), turns);
  const auto add = with_storage([=](void* t, std::size_t& b) { return cub::DeviceReduce::Sum(t, b, written, sum, n, s); });
  const Graph graph(stream, [&](cudaGraph_t whole) {
    cudaGraphConditionalHandle handle;
    check(cudaGraphConditionalHandleCreate(&handle, whole, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = handle;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
    check(cudaGraphAddNode(&node, whole, nullptr, nullptr, 0, &parameters));
#else
    check(cudaGraphAddNode(&node, whole, nullptr, 0, &parameters));
#endif
    cudaGraph_t body = parameters.conditional.phGraph_out[0];
    check(cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    gather_and_map_in_turn<<<loop.blocks(), kBlock, 0, s>>>(turns, at(loop.order), u32(n));
    add();
    stop_rule<<<1, 1, 0, s>>>(handle, sum, sought, round, 2 * u32(loop.rounds));
    check(cudaStreamEndCapture(s, &body));
  });
  measure_loop(what, "cuda graph", loop, [&] {
    begin<<<1, 1, 0, s>>>(round);
    graph.launch();
  }, [&] {
    const int done = int(on_host(round, 1)[0]);
    if (done != loop.rounds) throw std::runtime_error("the loop ended after round " + std::to_string(done));
    return on_host(at(loop.half(done)), loop.n);
  });
}

// -------------------------------------------------------------------------------------------------------------- transfers

void measure_transfer(const string& what, const string& library, std::size_t bytes, const std::function<void()>& before,
                      const std::function<void()>& copy) {
  print(what, bytes / 4, library, "until done", spread_of(1, before, copy), "\"bytes\":" + std::to_string(bytes));
}

/** Uploads, downloads into memory that was written before, and downloads into new memory. */
void measure_transfers(std::size_t bytes) {
  const auto nothing = [] {};
  Column device(bytes / 4);
  void* const words = at(device);
  std::vector<u32> pageable(bytes / 4, 1);
  u32* pinned = nullptr;
  check(cudaMallocHost(reinterpret_cast<void**>(&pinned), bytes));
  std::memset(pinned, 1, bytes);
  heat();
  const auto both_ways = [&](const string& library, void* host) {
    measure_transfer("upload", library, bytes, nothing, [=] { check(cudaMemcpy(words, host, bytes, cudaMemcpyHostToDevice)); });
    measure_transfer("download", library, bytes, nothing, [=] { check(cudaMemcpy(host, words, bytes, cudaMemcpyDeviceToHost)); });
  };
  both_ways("cudaMemcpy, pageable", pageable.data());
  both_ways("cudaMemcpy, pinned", pinned);
  std::unique_ptr<u32[]> fresh;
  measure_transfer("download into a new array", "cudaMemcpy, pageable", bytes, [&] { fresh.reset(); }, [&] {
    fresh.reset(new u32[bytes / 4]);
    check(cudaMemcpy(fresh.get(), words, bytes, cudaMemcpyDeviceToHost));
  });
  check(cudaFreeHost(pinned));
}

void measure_small_reads() {
  const auto nothing = [] {};
  Column device(1);
  u32* const word = at(device);
  u32 pageable = 0;
  u32* pinned = nullptr;
  check(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4));
  heat();
  for (const auto& [library, host] : {std::pair<string, u32*>{"cudaMemcpy, pageable", &pageable}, {"cudaMemcpy, pinned", pinned}}) {
    u32* const memory = host;
    measure_transfer("small read", library, 4, nothing, [=] { check(cudaMemcpy(memory, word, 4, cudaMemcpyDeviceToHost)); });
  }
  check(cudaFreeHost(pinned));
}

int main(int count, char** arguments) try {
  // With lazy loading, a kernel's first launch could load it during a capture.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  std::vector<int> powers;
  int rounds = 1000;
  for (int i = 1; i < count; i++) {
    if (string(arguments[i]) == "--rounds" && i + 1 < count) rounds = std::stoi(arguments[++i]);
    else powers.push_back(std::stoi(arguments[i]));
  }
  if (powers.empty()) powers = {10, 14, 16, 18, 20, 22};
  for (const int power : powers) {
    const std::size_t n = std::size_t(1) << power;
    measure_chain(n);
    if (n > kLargestLoop) continue;
    Loop loop(power, rounds);
    measure_plain_loop(loop);
    measure_loop_with_number(loop);
    measure_loop_with_stop_rule(loop);
  }
  for (const std::size_t mebibytes : {64, 256}) measure_transfers(mebibytes << 20);
  measure_small_reads();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
