// nanoflann's k-d tree over points of the plane, on one thread: the k nearest of all points for every query, in f32.
// usage: nanoflann POINTS QUERIES K, files of pairs of f32; prints the milliseconds of building and of searching, and the sum of
// all ids modulo 2^32.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nanoflann.hpp>
#include <vector>

struct Points {
  std::vector<float> xy;
  size_t kdtree_get_point_count() const { return xy.size() / 2; }
  float kdtree_get_pt(size_t i, size_t d) const { return xy[2 * i + d]; }
  template <class Box> bool kdtree_get_bbox(Box &) const { return false; }
};

static Points read(const char *path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  Points points;
  points.xy.resize(file.tellg() / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(points.xy.data()), points.xy.size() * sizeof(float));
  return points;
}

static double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int, char **arguments) {
  const Points points = read(arguments[1]), queries = read(arguments[2]);
  const size_t k = std::atoi(arguments[3]);
  using Metric = nanoflann::L2_Simple_Adaptor<float, Points>;
  using Tree = nanoflann::KDTreeSingleIndexAdaptor<Metric, Points, 2, uint32_t>;
  const double start = now();
  Tree tree(2, points, nanoflann::KDTreeSingleIndexAdaptorParams(10));
  tree.buildIndex();
  const double built = now();
  std::vector<uint32_t> ids(k);
  std::vector<float> distances(k);
  uint32_t sum = 0;
  for (size_t i = 0; i < queries.kdtree_get_point_count(); i++) {
    tree.knnSearch(&queries.xy[2 * i], k, ids.data(), distances.data());
    for (const uint32_t id : ids) sum += id;
  }
  std::printf("%.3f %.3f %u\n", built - start, now() - built, sum);
}
