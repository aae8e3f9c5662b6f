import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { cases } from '../support/exhaustive-f32-cases.ts';
import { compareCase } from '../support/exhaustive-f32-comparison.ts';
import { openTestBackend } from '../support/webgpu-support.ts';

// This test compares only a sample of the numbers that the program exhaustive-f32.ts compares.
const backends: Record<string, () => Promise<Backend>> = {
  workers: () => createWorkersBackend({ workers: 2 }),
  webgpu: (): Promise<WebGpuBackend> => openTestBackend(),
};

describe.each(Object.keys(backends))('f32 on %s', (name) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await backends[name]!();
  }, 60_000);
  afterAll(() => backend.close());

  test.each(cases)('$name has the same bytes as Math.fround', async (operation) => {
    const { compared, different, first } = await compareCase(backend, operation, 8192, false);
    expect({ different, first }).toEqual({ different: 0, first: '' });
    expect(compared).toBeGreaterThan(8192 * 0.7);
  });
});

test('a difference in the last place is detected, counted and shown', async () => {
  const backend = createReferenceBackend();
  const product = cases.find(({ name }) => name === 'a · b')!;
  const doubled = { ...product, host: (words: readonly number[]) => product.host(words) * (1 + 2 ** -23) };
  const { compared, different, largest, first } = await compareCase(backend, doubled, 64, false);
  expect(different).toBeGreaterThan(compared / 2);
  expect(largest).toBeGreaterThanOrEqual(1);
  expect(first).toMatch(/^[0-9a-f]{8} [0-9a-f]{8} 00000000 → .*, not .*$/);
  await backend.close();
});
