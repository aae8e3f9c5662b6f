import type { LabelPair, LabelRegions } from './label-regions.ts';

/**
 * The runs of pixels in a band, in the form that is copied to the device. Each run has a start, an end (exclusive) and
 * a region. Starts and ends are positions of pixels in the band, ascending.
 */
export interface BandRuns {
  readonly start: Uint32Array;
  readonly end: Uint32Array;
  readonly region: Uint32Array;
}

/** Some rows of one or several pairs of images. The device processes all rows of a band together. */
export interface Band {
  readonly p: BandRuns;
  readonly q: BandRuns;
}

/** Maximum number of pixels of a band, so that positions are 32-bit numbers. A single row may have more. */
const BAND_PIXELS = 2 ** 31;

/** Rows `from … to − 1` of a pair of images. */
interface RowRange {
  readonly job: number;
  readonly from: number;
  to: number;
}

/**
 * Cuts pairs of images into bands of rows. A band has at most `maxRuns` runs of both sides, or a single row with more.
 * Rows in which one of the two images has no runs are left out. Regions are numbered across all pairs.
 */
export function* bandsOf(jobs: readonly LabelPair[], maxRuns: number): Generator<Band> {
  const firsts = firstRegions(jobs);
  let [ranges, pixels, runs] = [[] as RowRange[], 0, 0];
  for (const [job, { p, q }] of jobs.entries()) {
    const width = Math.max(p.width, q.width);
    const rows = Math.min(p.height, q.height);
    for (let row = 0; row < rows; row++) {
      const [ofP, ofQ] = [runsIn(p, row), runsIn(q, row)];
      if (ofP === 0 || ofQ === 0) continue;
      const isFull = pixels + width > BAND_PIXELS || runs + ofP + ofQ > maxRuns;
      if (isFull && ranges.length > 0) {
        yield bandOf(jobs, firsts, ranges);
        [ranges, pixels, runs] = [[], 0, 0];
      }
      appendRow(ranges, job, row);
      pixels += width;
      runs += ofP + ofQ;
    }
  }
  if (ranges.length > 0) yield bandOf(jobs, firsts, ranges);
}

/**
 * Numbers the regions of each side consecutively across all pairs. Returns, for each side, the number of every pair's
 * first region. The last element is the number of all regions of the side.
 */
export function firstRegions(jobs: readonly LabelPair[]): Record<'p' | 'q', Uint32Array> {
  const firsts = { p: new Uint32Array(jobs.length + 1), q: new Uint32Array(jobs.length + 1) };
  for (const side of ['p', 'q'] as const) {
    for (const [job, pair] of jobs.entries()) firsts[side][job + 1] = firsts[side][job]! + pair[side].area.length;
  }
  return firsts;
}

function runsIn({ rowRuns }: LabelRegions, row: number): number {
  return rowRuns[row + 1]! - rowRuns[row]!;
}

function appendRow(ranges: RowRange[], job: number, row: number): void {
  const last = ranges.at(-1);
  if (last?.job === job && last.to === row) last.to++;
  else ranges.push({ job, from: row, to: row + 1 });
}

function bandOf(jobs: readonly LabelPair[], firsts: Record<'p' | 'q', Uint32Array>, ranges: readonly RowRange[]): Band {
  const side = (name: 'p' | 'q'): BandRuns => {
    let count = 0;
    for (const { job, from, to } of ranges) count += jobs[job]![name].rowRuns[to]! - jobs[job]![name].rowRuns[from]!;
    const runs = { start: new Uint32Array(count), end: new Uint32Array(count), region: new Uint32Array(count) };
    let [at, base] = [0, 0];
    for (const { job, from, to } of ranges) {
      const { p, q } = jobs[job]!;
      const width = Math.max(p.width, q.width);
      at = placeRows(runs, at, jobs[job]![name], { from, to, base, width, first: firsts[name][job]! });
      base += width * (to - from);
    }
    return runs;
  };
  return { p: side('p'), q: side('q') };
}

interface Placing {
  readonly from: number;
  readonly to: number;
  /** Position of the first pixel of row `from` within the band. */
  readonly base: number;
  /** Distance in pixels from one row to the next. */
  readonly width: number;
  /** Number of the pair's first region among the regions of all pairs. */
  readonly first: number;
}

function placeRows(runs: BandRuns, at: number, image: LabelRegions, { from, to, base, width, first }: Placing): number {
  const { rowRuns, start, end, region } = image;
  let into = at;
  for (let row = from, place = base; row < to; row++, place += width) {
    for (let run = rowRuns[row]!; run < rowRuns[row + 1]!; run++, into++) {
      runs.start[into] = place + start[run]!;
      runs.end[into] = place + end[run]!;
      runs.region[into] = first + region[run]!;
    }
  }
  return into;
}
