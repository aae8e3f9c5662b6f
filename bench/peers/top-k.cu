// The k greatest keys of each segment of rows, and their rows, by CUB's batched top-k, on NVIDIA.
//
// Build:  nvcc -O3 -std=c++17 -arch=native --extended-lambda -I CCCL/cub -I CCCL/thrust -I CCCL/libcudacxx/include -o top-k top-k.cu
//         (without a card: -arch=sm_90 for an H100 or H200; CCCL is a checkout of github.com/NVIDIA/cccl of 3.5 or later)
// Run:    ./top-k [rows, default 1048576] [segments, default 16384]
// Prints: what,median_ns,min_ns,max_ns of a call by CUDA's events, among 100 in a row, of 11 rounds
//
// CUB selects in any order and breaks ties in any way, which is its only way with one block per segment. It is told k when
// it is compiled, and the greatest size of a segment; `sizes known` says the size of all segments, too.
#include "cuda.hpp"

#include <thrust/host_vector.h>

#include <cub/device/device_batched_topk.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <cuda/__execution/tie_break.h>
#include <cuda/argument>
#include <cuda/iterator>

constexpr int kBest = 3;
constexpr int kMost = 128;
constexpr int kKnown = 64;
constexpr int kRounds = 11;
constexpr int kCalls = 100;

using Keys = thrust::device_vector<float>;

struct Uniform { __host__ __device__ float operator()(u32 i) const { return float(hash(i) >> 8) * 0x1p-24f; } };

/** An iterator of the first rows of segments. */
template <class T> struct Begin {
  T from;
  const u32* offsets;
  __host__ __device__ T operator()(u32 segment) const { return from + offsets[segment]; }
};
struct Size {
  const u32* offsets;
  __host__ __device__ u32 operator()(u32 segment) const { return offsets[segment + 1] - offsets[segment]; }
};
template <class T> struct Cells {
  T from;
  __host__ __device__ T operator()(u32 segment) const { return from + kBest * segment; }
};

template <class F> auto of_segments(F of) { return thrust::make_transform_iterator(thrust::make_counting_iterator(u32(0)), of); }

template <class F> void measure(const char* what, F call) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  std::vector<float> times;
  for (int round = -2; round < kRounds; round++) {
    check(cudaEventRecord(start));
    for (int i = 0; i < kCalls; i++) call();
    check(cudaEventRecord(stop));
    check(cudaEventSynchronize(stop));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop));
    if (round >= 0) times.push_back(milliseconds * 1e6f / kCalls);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s,%.0f,%.0f,%.0f\n", what, times[times.size() / 2], times.front(), times.back());
}

/** Requires that the keys of each segment are its greatest, in any order, and those of their rows. */
void verify(const Keys& keys, const Column& offsets, const Keys& found, const Column& rows) {
  const thrust::host_vector<float> all = keys, best = found;
  const thrust::host_vector<u32> from = offsets, row = rows;
  for (std::size_t s = 0; s + 1 < from.size(); s++) {
    std::vector<float> expected(all.begin() + from[s], all.begin() + from[s + 1]), got(best.begin() + kBest * s, best.begin() + kBest * (s + 1));
    std::sort(expected.rbegin(), expected.rend());
    for (int j = 0; j < kBest; j++) {
      if (all[row[kBest * s + j]] != got[j]) throw std::runtime_error("the key of another row");
    }
    std::sort(got.rbegin(), got.rend());
    if (!std::equal(got.begin(), got.end(), expected.begin())) throw std::runtime_error("other keys than the greatest");
  }
}

int main(int argc, char** argv) {
  const u32 rows = argc > 1 ? std::stoul(argv[1]) : 1 << 20;
  const u32 segments = argc > 2 ? std::stoul(argv[2]) : 1 << 14;
  Keys keys(rows), found(kBest * segments), sorted(rows);
  Column offsets(segments + 1), numbers(kBest * segments), order(rows), index(rows), heater;
  thrust::tabulate(keys.begin(), keys.end(), Uniform());
  thrust::sequence(index.begin(), index.end());
  std::vector<u32> from(segments + 1);
  for (u32 s = 0; s <= segments; s++) from[s] = u32(std::uint64_t(s) * rows / segments);
  for (u32 s = 0; s < segments; s++) {
    if (from[s + 1] - from[s] > kMost || from[s + 1] - from[s] < kBest) throw std::runtime_error("segments of 3 to 128 rows only");
  }
  offsets = from;

  const float* in = thrust::raw_pointer_cast(keys.data());
  float* out = thrust::raw_pointer_cast(found.data());
  u32* to = at(numbers);
  const u32* cuts = at(offsets);
  using Counting = thrust::counting_iterator<u32>;
  const auto keys_in = of_segments(Begin<const float*>{in, cuts});
  const auto rows_in = of_segments(Begin<Counting>{Counting(0), cuts});
  const auto keys_out = of_segments(Cells<float*>{out});
  const auto rows_out = of_segments(Cells<u32*>{to});
  const auto count = cuda::args::immediate{std::int64_t(segments)};
  const auto any = cuda::std::execution::env{cuda::execution::require(
      cuda::execution::determinism::not_guaranteed, cuda::execution::tie_break::unspecified, cuda::execution::output_ordering::unsorted)};
  const auto by = [&](auto sizes) {
    return with_storage([=](void* t, std::size_t& b) {
      return cub::DeviceBatchedTopK::MaxPairs(t, b, keys_in, keys_out, rows_in, rows_out, sizes, cuda::args::constant<kBest>{}, count, any);
    });
  };

  heat(heater);
  const auto sizes = of_segments(Size{cuts});
  const auto various = by(cuda::args::deferred_sequence{sizes, cuda::args::bounds<0, kMost>()});
  various();
  verify(keys, offsets, found, numbers);
  measure("batched top-k", various);
  if (rows == kKnown * segments) measure("batched top-k, sizes known", by(cuda::args::constant<kKnown>{}));
  measure("segmented sort", with_storage([&](void* t, std::size_t& b) {
            return cub::DeviceSegmentedSort::SortPairsDescending(t, b, in, thrust::raw_pointer_cast(sorted.data()), at(index), at(order),
                                                                 std::int64_t(rows), std::int64_t(segments), cuts, cuts + 1);
          }));
  return 0;
}
