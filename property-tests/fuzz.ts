import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import type { Backend } from '../primitives/contract/backend.ts';
import { checkBackend } from './check-backend.ts';
import { configurations, openTestBackend, placing } from './support/webgpu-support.ts';

/**
 * Tries all laws on one backend after another until the time is up, each time with a new seed unless `--seed` is given.
 * Prints every seed before trying it. If a seed breaks a law, `checkBackend(…, { seed })` tries the same cases again,
 * for example in a new test.
 *
 * node --import tsx property-tests/fuzz.ts [--minutes 10] [--runs 20] [--seed N] [--only workers,webgpu]
 */
const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    runs: { type: 'string', default: '20' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});

/**
 * Backends by name, with their share of the runs; slow backends get fewer runs. Configurations with few or small
 * bindings are left out, because laws may capture more arrays than such configurations can bind; the tests of kernels
 * cover these configurations.
 */
const backends: readonly (readonly [name: string, share: number, open: () => Backend | Promise<Backend>])[] = [
  ['reference', 1, () => createReferenceBackend()],
  ['workers', 1, () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 })],
  ['workers of small tiles', 1, () => createWorkersBackend({ workers: 3, inlineNanoseconds: 0, fusedRows: 64 })],
  ...configurations
    .filter(([, { limits }]) => limits === undefined)
    .map(([name, options]): (typeof backends)[number] => [`webgpu ${name}`, 0.25, () => openTestBackend(options)]),
  ['webgpu by places', 0.25, () => openTestBackend({ tuning: placing(1, 4, 3) })],
];

const end = performance.now() + Number(options.minutes) * 60_000;
const wanted = options.only.split(',');
const chosen = backends.filter(([name]) => wanted.some((part) => name.startsWith(part)));
let [tried, broken] = [0, 0];
for (let round = 0; performance.now() < end || round === 0; round++) {
  const [name, share, open] = chosen[round % chosen.length]!;
  const seed = options.seed === undefined ? randomInt(2 ** 31) : Number(options.seed);
  process.stdout.write(`${name}: seed ${seed} … `);
  try {
    await checkBackend(open, { seed, numRuns: Math.max(1, Math.round(Number(options.runs) * share)) });
    process.stdout.write('holds\n');
  } catch (error) {
    broken++;
    process.stdout.write(`broken\n${String(error)}\n`);
  }
  tried++;
}
process.stdout.write(`${tried} seeds, ${broken} of them break a law\n`);
process.exitCode = broken === 0 ? 0 : 1;
