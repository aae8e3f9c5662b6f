/*
 * Fields and snakes of cells by Rodinia's leukocyte program (openmp/leukocyte), whose object files are linked in.
 *
 * bench/peers/leukocyte.ts compiles it, writes its input and reads its output:
 *   leukocyte windows.bin found.bin threads rounds
 *
 * windows.bin, f64: the number of cells; for each cell, its window's width and height, the centre and the expected row relative
 * to the window's first pixel, the radius, and whether a field is given (1 or 0); then grey values from 0 to 1, row after row,
 * and the given field in the same order. The snake of a cell with a given field follows that field.
 *
 * found.bin, f64: for each cell, x and y relative to the window's first pixel, the distances of the 20 snaxels, the rounds of
 * the field (0 unless compiled with -DCOUNT, which needs -Wl,--wrap=atan), then the field, row after row.
 *
 * Standard output has the median milliseconds of a round over all cells: in total, for the fields and for the snakes. The last
 * two are summed over threads.
 */
#include "track_ellipse.h"
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#define SNAXELS 20

/* Symbols that the program's find_ellipse.c expects from its main file. */
int omp_num_threads = 1;

#ifdef COUNT
static _Thread_local uint64_t atans;
double __real_atan(double x);
double __wrap_atan(double x) {
  atans++;
  return __real_atan(x);
}
#endif

typedef struct {
  int width, height;
  double x, y, row, radius, *grey, *given;
  double found_x, found_y, radii[SNAXELS], turns;
  MAT *field;
} Cell;

static double *take(FILE *file, double *values, size_t count) {
  if (fread(values, sizeof(double), count, file) == count) return values;
  fprintf(stderr, "The file of windows ends too early\n");
  exit(1);
}

/* The given values of a window as a matrix. */
static MAT *matrix_of(const Cell *cell, const double *values) {
  MAT *matrix = m_get(cell->height, cell->width);
  for (int i = 0; i < cell->height; i++)
    for (int j = 0; j < cell->width; j++) m_set_val(matrix, i, j, values[i * cell->width + j]);
  return matrix;
}

/* The magnitude of the gradient at each pixel of a window. */
static MAT *edges_of(const Cell *cell) {
  MAT *grey = matrix_of(cell, cell->grey);
  MAT *x = gradient_x(grey), *y = gradient_y(grey);
  for (int i = 0; i < cell->height; i++)
    for (int j = 0; j < cell->width; j++) {
      double a = m_get_val(x, i, j), b = m_get_val(y, i, j);
      m_set_val(grey, i, j, sqrt(a * a + b * b));
    }
  m_free(x);
  m_free(y);
  return grey;
}

static double now(void) { return omp_get_wtime() * 1000; }

static void track(Cell *cell, double *angles, double *fields, double *snakes) {
  MAT *edges = edges_of(cell);
#ifdef COUNT
  atans = 0;
#endif
  double start = now();
  if (cell->field) m_free(cell->field);
  cell->field = cell->given ? matrix_of(cell, cell->given) : MGVF(edges, 1, 1);
  double half = now();
#ifdef COUNT
  cell->turns = (double)atans / (8.0 * cell->width * cell->height);
#endif
  cell->found_x = cell->x;
  cell->found_y = cell->y;
  for (int k = 0; k < SNAXELS; k++) cell->radii[k] = cell->radius;
  ellipseevolve(cell->field, &cell->found_x, &cell->found_y, cell->radii, angles, SNAXELS, cell->radius, cell->row);
  double end = now();
  m_free(edges);
#pragma omp atomic
  *fields += half - start;
#pragma omp atomic
  *snakes += end - half;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, count, sizeof(double), ascending);
  return values[count / 2];
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: leukocyte windows.bin found.bin threads rounds\n");
    return 1;
  }
  int threads = atoi(argv[3]), rounds = atoi(argv[4]);
  FILE *file = fopen(argv[1], "rb");
  double count;
  take(file, &count, 1);
  int cells = (int)count;
  Cell *all = calloc(cells, sizeof(Cell));
  for (int c = 0; c < cells; c++) {
    double head[7];
    take(file, head, 7);
    all[c] = (Cell){.width = head[0], .height = head[1], .x = head[2], .y = head[3], .row = head[4], .radius = head[5]};
    size_t area = (size_t)all[c].width * all[c].height;
    all[c].grey = take(file, malloc(area * sizeof(double)), area);
    if (head[6]) all[c].given = take(file, malloc(area * sizeof(double)), area);
  }
  fclose(file);
  double angles[SNAXELS];
  for (int k = 0; k < SNAXELS; k++) angles[k] = 2 * PI / SNAXELS * k;
  double *whole = calloc(rounds, sizeof(double)), *fields = calloc(rounds, sizeof(double));
  double *snakes = calloc(rounds, sizeof(double));
  for (int round = 0; round < rounds; round++) {
    double start = now();
#pragma omp parallel for num_threads(threads)
    for (int c = 0; c < cells; c++) track(&all[c], angles, &fields[round], &snakes[round]);
    whole[round] = now() - start;
  }
  printf("%.4f %.4f %.4f\n", median(whole, rounds), median(fields, rounds), median(snakes, rounds));
  file = fopen(argv[2], "wb");
  for (int c = 0; c < cells; c++) {
    Cell *cell = &all[c];
    fwrite(&cell->found_x, sizeof(double), 1, file);
    fwrite(&cell->found_y, sizeof(double), 1, file);
    fwrite(cell->radii, sizeof(double), SNAXELS, file);
    fwrite(&cell->turns, sizeof(double), 1, file);
    for (int i = 0; i < cell->height; i++)
      for (int j = 0; j < cell->width; j++) {
        double value = m_get_val(cell->field, i, j);
        fwrite(&value, sizeof(double), 1, file);
      }
  }
  fclose(file);
  return 0;
}
