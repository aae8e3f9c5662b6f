// What primitives.cu and calls.cu share: inputs, functors, reused memory, and the chain by Thrust.
#pragma once

#include <cub/cub.cuh>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using u32 = std::uint32_t;
using std::string;
using Column = thrust::device_vector<u32>;
using Clock = std::chrono::steady_clock;

constexpr int kRun = 16;

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

__host__ __device__ inline u32 hash(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

__host__ __device__ inline u32 affine(u32 x) { return x * 2654435761u + 1u; }

/** The place of i in a random permutation of n rows: a bijection of the next power of two, repeated until below n. */
struct Permuted {
  u32 n, mask;
  int half;
  explicit Permuted(std::size_t count) : n(u32(count)) {
    int bits = 0;
    while (bits < 32 && (std::uint64_t(1) << bits) < count) bits++;
    mask = u32((std::uint64_t(1) << bits) - 1);
    half = (bits + 1) / 2;
  }
  __host__ __device__ u32 step(u32 i, u32 factor) const {
    i = (i * factor + 0x7f4a7c15u) & mask;
    return i ^ (i >> half);
  }
  __host__ __device__ u32 operator()(u32 i) const {
    if (mask == 0) return 0;
    do i = step(step(step(i, 0x9e3779b1u), 0x85ebca6bu), 0xc2b2ae35u);
    while (i >= n);
    return i;
  }
};
struct Hash { __host__ __device__ u32 operator()(u32 i) const { return hash(i); } };
struct Affine { __host__ __device__ u32 operator()(u32 x) const { return affine(x); } };
struct RunOf { __host__ __device__ u32 operator()(u32 i) const { return i / kRun; } };
struct OddKey {
  __host__ __device__ bool operator()(const thrust::tuple<u32, u32>& row) const { return thrust::get<0>(row) & 1u; }
};

u32* at(Column& column) { return thrust::raw_pointer_cast(column.data()); }

/** Device memory that is reused between calls: only the first call allocates. */
class Cache {
 public:
  using value_type = char;
  ~Cache() {
    for (auto& [bytes, block] : free_) cudaFree(block);
  }
  char* allocate(std::ptrdiff_t bytes) {
    const auto known = free_.lower_bound(std::size_t(bytes));
    char* block = nullptr;
    std::size_t size = std::size_t(bytes);
    if (known != free_.end() && known->first <= 2 * size) {
      size = known->first;
      block = known->second;
      free_.erase(known);
    } else {
      check(cudaMalloc(reinterpret_cast<void**>(&block), size));
    }
    used_[block] = size;
    return block;
  }
  void deallocate(char* block, std::size_t) {
    const auto known = used_.find(block);
    free_.emplace(known->second, block);
    used_.erase(known);
  }

 private:
  std::multimap<std::size_t, char*> free_;
  std::map<char*, std::size_t> used_;
};

/** Uninitialized words from a cache. */
class CachedWords {
 public:
  CachedWords(Cache& cache, std::size_t n) : cache_(cache), words_(reinterpret_cast<u32*>(cache.allocate(4 * std::max<std::size_t>(n, 1)))) {}
  CachedWords(const CachedWords&) = delete;
  CachedWords& operator=(const CachedWords&) = delete;
  ~CachedWords() { cache_.deallocate(reinterpret_cast<char*>(words_), 0); }
  thrust::device_ptr<u32> begin() const { return thrust::device_pointer_cast(words_); }

 private:
  Cache& cache_;
  u32* words_;
};

/** A CUB call with its temporary storage, whose size the call reports. */
template <class F> std::function<void()> with_storage(F call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  auto storage = std::make_shared<thrust::device_vector<char>>(bytes + 16);
  return [=]() mutable { check(call(thrust::raw_pointer_cast(storage->data()), bytes)); };
}

auto runs() { return thrust::make_transform_iterator(thrust::make_counting_iterator(u32(0)), RunOf()); }

/** The chain as an expert in Thrust writes it, with cached memory; returns the length of the result. */
std::size_t cached_chain(const Column& x, Cache& cache, u32* out) {
  const auto policy = thrust::cuda::par_nosync(cache);
  const std::size_t n = x.size();
  const CachedWords key(cache, n), row(cache, n), sums(cache, n / kRun + 1);
  const auto rows = thrust::make_zip_iterator(
      thrust::make_tuple(thrust::make_transform_iterator(x.begin(), Affine()), thrust::make_counting_iterator(u32(0))));
  const auto kept = thrust::make_zip_iterator(thrust::make_tuple(key.begin(), row.begin()));
  const auto count = thrust::copy_if(policy, rows, rows + n, kept, OddKey()) - kept;
  thrust::sort_by_key(policy, key.begin(), key.begin() + count, row.begin());
  const std::size_t length = (count + kRun - 1) / kRun;
  thrust::reduce_by_key(policy, runs(), runs() + count, row.begin(), thrust::make_discard_iterator(), sums.begin());
  thrust::exclusive_scan(policy, sums.begin(), sums.begin() + length, thrust::device_pointer_cast(out));
  return length;
}

/** Warms up the card by work on some words: an idle card needs a quarter of a second to raise its clock frequency. */
void heat(Column& words) {
  using namespace std::chrono_literals;
  if (words.empty()) words.resize(1 << 24);
  for (const auto end = Clock::now() + 250ms; Clock::now() < end; check(cudaDeviceSynchronize())) {
    for (int i = 0; i < 16; i++) thrust::transform(words.begin(), words.end(), words.begin(), Affine());
  }
}
