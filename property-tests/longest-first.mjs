import { BaseSequencer } from 'vitest/node';

/**
 * Slow files, which would delay the end of a run if they started late. `npm test` lists the slowest files at its end.
 */
const LONGEST = [
  'package',
  'guide',
  'browser-open',
  'webgpu-sort',
  'webgpu-plans',
  'replays',
  'spilling',
  'spilling-memory',
  'faults-prepared',
  'prepared',
  'track-cells',
  'cross-compare-faults',
  'sampling-boxes',
  'queries-areas',
  'transfers',
  'workers-kernels',
  'overlaps',
].map((name) => `/${name}.test.ts`);

/** Runs the slowest files first. Vitest orders all other files; it knows durations only from earlier runs. */
export class LongestFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }) => LONGEST.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
