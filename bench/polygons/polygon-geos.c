/*
 * Areas of pairs of polygons by GEOS: GEOSIntersection and GEOSArea, one pair after another on one thread.
 *
 * bench/polygons/polygon-geos.ts compiles this program, writes its input and reads its output:
 *   polygon-geos pairs.bin areas.bin
 *
 * pairs.bin: u32 polygons, rings, vertices of the first side, the same of the second, and pairs; then for each side
 * polygonRings, ringVertices (u32) and x, y (i32); then the pairs' polygons on the first side and on the second (u32).
 * The first ring of a polygon is its outline, the others are its holes.
 *
 * areas.bin: f64 areas of the intersections, then of the first polygons, then of the second; -1 where GEOS failed.
 * Seconds of processor time are written to standard output: making geometries, then intersections and areas.
 */
#include <geos_c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  uint32_t polygons, rings, vertices;
  uint32_t *polygon_rings, *ring_vertices;
  int32_t *x, *y;
  GEOSGeometry **geometries;
} Side;

static void *take(FILE *file, size_t count) {
  uint32_t *words = malloc(count * 4 + 4);
  if (fread(words, 4, count, file) != count) {
    fprintf(stderr, "The file of pairs ends too early\n");
    exit(1);
  }
  return words;
}

static void read_side(FILE *file, Side *side) {
  side->polygon_rings = take(file, side->polygons + 1);
  side->ring_vertices = take(file, side->rings + 1);
  side->x = take(file, side->vertices);
  side->y = take(file, side->vertices);
}

static GEOSGeometry *make_ring(GEOSContextHandle_t geos, const Side *side, uint32_t ring) {
  uint32_t start = side->ring_vertices[ring], count = side->ring_vertices[ring + 1] - start;
  GEOSCoordSequence *sequence = GEOSCoordSeq_create_r(geos, count + 1, 2);
  for (uint32_t i = 0; i <= count; i++)
    GEOSCoordSeq_setXY_r(geos, sequence, i, side->x[start + i % count], side->y[start + i % count]);
  return GEOSGeom_createLinearRing_r(geos, sequence);
}

static void make_geometries(GEOSContextHandle_t geos, Side *side) {
  side->geometries = malloc(side->polygons * sizeof(GEOSGeometry *));
  for (uint32_t i = 0; i < side->polygons; i++) {
    uint32_t first = side->polygon_rings[i], holes = side->polygon_rings[i + 1] - first - 1;
    GEOSGeometry **inner = malloc((holes + 1) * sizeof(GEOSGeometry *));
    for (uint32_t hole = 0; hole < holes; hole++) inner[hole] = make_ring(geos, side, first + 1 + hole);
    side->geometries[i] = GEOSGeom_createPolygon_r(geos, make_ring(geos, side, first), inner, holes);
    free(inner);
  }
}

static double area_of(GEOSContextHandle_t geos, const GEOSGeometry *geometry) {
  double area;
  return geometry != NULL && GEOSArea_r(geos, geometry, &area) ? area : -1;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv) {
  Side sides[2];
  FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out = argc == 3 ? fopen(argv[2], "wb") : NULL;
  if (in == NULL || out == NULL) {
    fprintf(stderr, "usage: polygon-geos pairs.bin areas.bin\n");
    return 1;
  }
  uint32_t *header = take(in, 7), pairs = header[6];
  for (int s = 0; s < 2; s++) {
    sides[s] = (Side){.polygons = header[3 * s], .rings = header[3 * s + 1], .vertices = header[3 * s + 2]};
  }
  for (int s = 0; s < 2; s++) read_side(in, &sides[s]);
  uint32_t *p = take(in, pairs), *q = take(in, pairs);
  double *areas = malloc(3 * (size_t)pairs * sizeof(double));

  GEOSContextHandle_t geos = GEOS_init_r();
  double start = seconds();
  for (int s = 0; s < 2; s++) make_geometries(geos, &sides[s]);
  double made = seconds();
  for (uint32_t i = 0; i < pairs; i++) {
    const GEOSGeometry *a = sides[0].geometries[p[i]], *b = sides[1].geometries[q[i]];
    GEOSGeometry *both = GEOSIntersection_r(geos, a, b);
    areas[i] = area_of(geos, both);
    areas[pairs + i] = area_of(geos, a);
    areas[2 * (size_t)pairs + i] = area_of(geos, b);
    GEOSGeom_destroy_r(geos, both);
  }
  double end = seconds();
  fwrite(areas, sizeof(double), 3 * (size_t)pairs, out);
  fclose(out);
  printf("{\"version\": \"%s\", \"make\": %f, \"areas\": %f}\n", GEOSversion(), made - start, end - made);
  return 0;
}
