import { BaseSequencer } from 'vitest/node';

/** Files that would hold up the end of a run if they began late: `npm test` names the slowest ones at its end. */
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

/** Orders files as vitest does, but for the longest, which come first: vitest knows them only from an earlier run. */
export class LongestFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }) => LONGEST.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
