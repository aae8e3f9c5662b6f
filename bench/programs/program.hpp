// What the C++ programs of this folder share: they read the arrays of a case from a file, run once for every line of standard input,
// answer with the milliseconds of wall clock and of processor time, and write the arrays of the answer at the end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "../peers/threads.hpp"

using std::uint32_t;
using std::uint8_t;

/** Arrays as bytes. In files: their number, then for each its length in bytes and its bytes, all as 64-bit words. */
using Arrays = std::vector<std::vector<uint8_t>>;

template <class T> T* as(std::vector<uint8_t>& bytes) { return reinterpret_cast<T*>(bytes.data()); }

inline double clock_of(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

/** usage: PROGRAM INPUT OUTPUT THREADS [SIZE …] */
template <class Prepare> int serve(int count, char** arguments, Prepare prepare) {
  if (count < 4) return 2;
  std::ifstream from(arguments[1], std::ios::binary);
  const auto word = [&] { std::uint64_t value = 0; from.read(reinterpret_cast<char*>(&value), 8); return value; };
  Arrays inputs(word());
  for (auto& array : inputs) {
    array.resize(word());
    from.read(reinterpret_cast<char*>(array.data()), std::streamsize(array.size()));
  }
  Pool pool(std::stoi(arguments[3]));
  std::vector<double> sizes;
  for (int i = 4; i < count; i++) sizes.push_back(std::stod(arguments[i]));
  Arrays outputs;
  auto run = prepare(inputs, sizes, outputs, pool);
  for (std::string line; std::getline(std::cin, line);) {
    const double wall = clock_of(CLOCK_MONOTONIC), used = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    run();
    std::printf("%.4f %.4f\n", clock_of(CLOCK_MONOTONIC) - wall, clock_of(CLOCK_PROCESS_CPUTIME_ID) - used);
    std::fflush(stdout);
  }
  std::ofstream to(arguments[2], std::ios::binary);
  const auto put = [&](std::uint64_t value) { to.write(reinterpret_cast<const char*>(&value), 8); };
  put(outputs.size());
  for (const auto& array : outputs) {
    put(array.size());
    to.write(reinterpret_cast<const char*>(array.data()), std::streamsize(array.size()));
  }
  return 0;
}
