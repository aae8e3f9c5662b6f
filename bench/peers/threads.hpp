// Threads for the peers in C++.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

using std::size_t;

constexpr int kSpins = 4000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/** Threads that spin for some microseconds and then sleep; the caller is the first thread of every job. */
class Pool {
 public:
  explicit Pool(int threads) {
    for (int t = 1; t < threads; t++) others_.emplace_back([this, t] { work(t); });
  }
  ~Pool() {
    job_ = nullptr;
    start();
    for (auto& thread : others_) thread.join();
  }
  int size() const { return int(others_.size()) + 1; }

  template <class F> void run(F&& job) {
    job_ = [](void* f, int t) { (*static_cast<std::remove_reference_t<F>*>(f))(t); };
    context_ = &job;
    left_.store(int(others_.size()), std::memory_order_relaxed);
    if (!others_.empty()) start();
    job(0);
    for (int left; (left = left_.load(std::memory_order_acquire)) != 0;) await(left_, left);
  }

 private:
  static void await(const std::atomic<int>& word, int old) {
    for (int spin = 0; spin < kSpins; spin++) {
      if (word.load(std::memory_order_acquire) != old) return;
      relax();
    }
    word.wait(old, std::memory_order_acquire);
  }
  void start() {
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }
  void work(int t) {
    for (int epoch = 0;; epoch++) {
      await(epoch_, epoch);
      if (job_ == nullptr) return;
      job_(context_, t);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }
  std::vector<std::thread> others_;
  std::atomic<int> epoch_{0}, left_{0};
  void (*job_)(void*, int) = nullptr;
  void* context_ = nullptr;
};

/** The rows of one thread: whole cache lines, so that no two threads write to the same one. */
struct Part { size_t from, to; };
inline Part part_of(size_t n, int t, int threads) {
  const auto edge = [&](int k) { return k == threads ? n : n * size_t(k) / size_t(threads) / 16 * 16; };
  return {edge(t), edge(t + 1)};
}

/** A number for each thread, on its own cache line. */
struct alignas(64) Padded { size_t value; };
using PerThread = std::vector<Padded>;

/** Replaces each thread's number by the sum of all earlier threads' numbers; returns the total. */
size_t sums_before(PerThread& numbers) {
  size_t sum = 0;
  for (auto& number : numbers) sum += std::exchange(number.value, sum);
  return sum;
}
