import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A window (a rectangle of pixels) around a cell: the grey values from 0 to 1, and the cell's circle. `x`, `y` and
 * `row` are relative to the window's upper left pixel.
 */
export interface PeerWindow {
  readonly width: number;
  readonly height: number;
  readonly x: number;
  readonly y: number;
  /** The row in which the cell's centre is expected. */
  readonly row: number;
  readonly radius: number;
  readonly grey: ArrayLike<number>;
  /**
   * The field that moves the cell's snake (closed contour): one value per pixel, row after row. If undefined, Rodinia's
   * program computes the field.
   */
  readonly field?: ArrayLike<number>;
}

/** What Rodinia's program computed for one window. */
export interface PeerCell {
  readonly x: number;
  readonly y: number;
  readonly radii: Float64Array;
  /** Number of iterations until the field converged; 0 unless the option `count` was set. */
  readonly rounds: number;
  readonly field: Float64Array;
}

export interface PeerRun {
  readonly cells: readonly PeerCell[];
  /** Median milliseconds for all cells. `fields` and `snakes` are sums over all threads. */
  readonly ms: { readonly whole: number; readonly fields: number; readonly snakes: number };
}

const SNAXELS = 20;

/**
 * Runs the functions for fields and snakes (closed contours) of Rodinia's leukocyte program, called by `leukocyte.c`.
 * `folder` is Rodinia's openmp/leukocyte; `make` must have been run in that folder. If `count` is set, the iterations
 * of the fields are counted, which takes additional time.
 */
export function runLeukocyte(
  folder: string,
  windows: readonly PeerWindow[],
  options: { readonly threads: number; readonly rounds: number; readonly count?: boolean },
): PeerRun {
  const scratch = mkdtempSync(join(tmpdir(), 'leukocyte-'));
  try {
    const [input, output, program] = ['windows.bin', 'found.bin', 'leukocyte'].map((name) => join(scratch, name));
    compile(resolve(folder), program!, options.count ?? false);
    const words = windows.flatMap(({ width, height, x, y, row, radius, grey, field }) => {
      const hasField = field === undefined ? 0 : 1;
      return [width, height, x, y, row, radius, hasField, ...Array.from(grey), ...Array.from(field ?? [])];
    });
    writeFileSync(input!, Float64Array.from([windows.length].concat(words)));
    const given = [input!, output!, String(options.threads), String(options.rounds)];
    const [whole, fields, snakes] = execFileSync(program!, given, { encoding: 'utf8' }).trim().split(' ').map(Number);
    const found = readFileSync(output!);
    const values = new Float64Array(found.buffer.slice(found.byteOffset, found.byteOffset + found.byteLength));
    let at = 0;
    const cells = windows.map(({ width, height }): PeerCell => {
      const take = (count: number): Float64Array => {
        at += count;
        return values.subarray(at - count, at);
      };
      const [x, y] = take(2);
      const radii = take(SNAXELS);
      const [rounds] = take(1);
      return { x: x!, y: y!, radii, rounds: rounds!, field: take(width * height) };
    });
    return { cells, ms: { whole: whole!, fields: fields!, snakes: snakes! } };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function compile(folder: string, program: string, count: boolean): void {
  const at = (name: string): string => join(folder, 'OpenMP', `${name}.o`);
  const matrices = join(folder, 'meschach_lib');
  const source = fileURLToPath(new URL('leukocyte.c', import.meta.url));
  const counting = count ? ['-DCOUNT', '-Wl,--wrap=atan'] : [];
  const objects = ['avilib', 'find_ellipse', 'track_ellipse', 'misc_math'].map(at);
  const paths = [`-I${join(folder, 'OpenMP')}`, `-I${matrices}`];
  execFileSync(
    process.env.CC ?? 'gcc',
    ['-O3', '-fopenmp', ...counting, ...paths, source, ...objects, join(matrices, 'meschach.a'), '-lm', '-o', program],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
}
