import { describe, expect, test, vi } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { costlyCaseCount } from '../cases.ts';
import { checkBackend, kernelLaws } from '../index.ts';

/** A reference backend with some members replaced by faulty ones. */
function changed(change: (backend: Backend) => Partial<Backend>): () => Backend {
  return () => {
    const backend = createReferenceBackend();
    const getters = Object.getOwnPropertyDescriptors(backend);
    return Object.assign(Object.create(null, getters), change(backend)) as Backend;
  };
}

describe('checkBackend', () => {
  test('accepts the reference backend', async () => {
    await checkBackend(createReferenceBackend, { numRuns: costlyCaseCount(5), seed: 7 });
  }, 60_000);

  const faults: { readonly [fault: string]: (backend: Backend) => Partial<Backend> } = {
    'a sort that is not stable': (backend) => ({
      sort: (command) => backend.sort({ ...command, beginBit: 0, endBit: 32 }),
    }),
    'a scan without its total': (backend) => ({
      scan: (command) => backend.scan({ ...command, total: undefined }),
    }),
    'a reduction that omits one element': (backend) => ({
      reduce: (extent, ...rest) =>
        backend.reduce(typeof extent === 'number' ? Math.max(0, extent - 1) : extent, ...rest),
    }),
    'ignored guards': (backend) => ({
      forEach: (extent, program, stores) =>
        backend.forEach(
          extent,
          program,
          stores.map(({ guard: _, ...store }) => store),
        ),
    }),
    'ignored guards of walks': (backend) => ({
      walk: (command) => backend.walk({ ...command, stores: command.stores.map(({ guard: _, ...store }) => store) }),
    }),
    'a histogram with one bin too few': (backend) => ({
      histogram: (command) => backend.histogram({ ...command, bins: Math.max(1, command.bins - 1) }),
    }),
    'memory that is never freed': () => ({ release: () => {} }),
  };
  test.each(Object.entries(faults))(
    'detects %s',
    async (_, fault) => {
      await expect(checkBackend(changed(fault), { numRuns: 30, seed: 7, laws: kernelLaws })).rejects.toThrow(
        AggregateError,
      );
    },
    60_000,
  );

  test.each([
    ['no laws', { laws: [] }],
    ['no cases', { numRuns: 0 }],
    ['half a case', { numRuns: 0.5 }],
  ])('refuses %s', async (_, options) => {
    const open = vi.fn(createReferenceBackend);
    await expect(checkBackend(open, options)).rejects.toMatchObject({ code: 'check/cases' });
    expect(open).not.toHaveBeenCalled();
  });
});
