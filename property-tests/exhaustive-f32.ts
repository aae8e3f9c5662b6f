import { parseArgs } from 'node:util';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { createWebGpuBackend } from '../backends/webgpu/index.ts';
import { type NodeAdapter, openNodeGpu } from '../backends/webgpu-node/node-gpu.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import type { Backend } from '../primitives/contract/backend.ts';
import { cases } from './support/exhaustive-f32-cases.ts';
import { compareCase, type Tally } from './support/exhaustive-f32-comparison.ts';

/**
 * Compares f32 arithmetic of a backend with Math.fround, bit by bit, for far more numbers than a test can: square roots
 * of all mantissas with even and odd exponents, 2²⁶ quotients over all exponents, and every other operation for 2²⁴
 * random operands. The device computes the operands from the index, in integers.
 *
 *     node --import tsx property-tests/exhaustive-f32.ts --adapter hardware
 *     node --import tsx property-tests/exhaustive-f32.ts --adapter software --most 65536
 *
 * Prints a table, and exits with 1 on any difference. `--fast` turns off the guards that make results exact, to show
 * what the device computes without them.
 */
const usage = `exhaustive-f32 [--backend webgpu|workers|reference] [--adapter hardware|software|auto] [--most N] [--only NAME] [--fast]`;

async function openBackend(name: string, adapter: NodeAdapter): Promise<Backend> {
  if (name === 'reference') return createReferenceBackend();
  if (name === 'workers') return createWorkersBackend();
  if (name === 'webgpu') return createWebGpuBackend({ gpu: await openNodeGpu(adapter), adapter });
  throw new RangeError(usage);
}

function printTable(tallies: readonly Tally[]): void {
  const rows = tallies.map(({ name, evaluated, compared, different, largest, first }) =>
    [name, evaluated, compared, different, largest, first].map(String),
  );
  const table = [['operation', 'evaluated', 'compared', 'different', 'bits apart', 'first difference'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i > 0 && i < 5 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ');
  console.log(
    table
      .map(line)
      .map((text) => text.trimEnd())
      .join('\n'),
  );
}

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'webgpu' },
    adapter: { type: 'string', default: 'auto' },
    max: { type: 'string', default: String(2 ** 26) },
    only: { type: 'string', default: '' },
    fast: { type: 'boolean', default: false },
  },
});

const backend = await openBackend(options.backend, options.adapter as NodeAdapter);
const { level, ulp, reasons } = backend.determinism;
console.log(`${backend.name}: ${level}${level === 'exact' ? '' : ` (${ulp} ulp)`}. ${reasons.join(' ')}`);
const tallies: Tally[] = [];
for (const test of cases) {
  if (!test.name.includes(options.only)) continue;
  tallies.push(await compareCase(backend, test, Number(options.max), options.fast));
}
await backend.close();
printTable(tallies);
process.exitCode = tallies.some(({ different }) => different > 0) ? 1 : 0;
