import { BaseSequencer } from 'vitest/node';

/**
 * Slow test files. A slow file that started late would delay the end of the run. `npm test` finally lists the slowest
 * files.
 */
const LONGEST = [
  'package',
  'guide',
  'failing-redis',
  'dying-workers',
  'browser-open',
  'track-cells',
  'faults-prepared',
  'examples',
  'prepared',
  'spilling-memory',
  'kept-memory',
  'bench/cli-bench',
  'queries-join',
  'cross-compare-faults',
  'polygon-layers-stream',
  'boundary-text',
  'wrong-arguments',
  'workers-prepared',
  'hostile-inputs',
  'spilling',
  'sampling-boxes',
  'workers-kernels',
  'faults-workers',
  'cli-index-build',
  'cli-track-faults',
  'webgpu-placement',
].map((name) => `/${name}.test.ts`);

/** Runs the slowest files first, even if no earlier run has recorded their durations. Vitest orders all other files. */
export class LongestFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }) => LONGEST.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
