import { describe, expect, test, vi } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import type { Backend, CommandOf, KernelKind, Store } from '../../primitives/contract/backend.ts';
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

/** A fault: the backend changes the commands of one kernel before it runs them. */
function changing<K extends KernelKind>(
  kind: K,
  change: (command: CommandOf<K>) => CommandOf<K>,
): (backend: Backend) => Partial<Backend> {
  return ({ run }) => ({
    run: (command) => run(command.kind === kind ? change(command as CommandOf<K>) : command),
  });
}

function withoutGuards(stores: readonly Store[]): readonly Store[] {
  return stores.map(({ guard: _, ...store }) => store);
}

describe('checkBackend', () => {
  test('accepts the reference backend', async () => {
    await checkBackend(createReferenceBackend, { numRuns: costlyCaseCount(5), seed: 7 });
  }, 60_000);

  const faults: { readonly [fault: string]: (backend: Backend) => Partial<Backend> } = {
    'a sort that is not stable': changing('sort', (command) => ({ ...command, beginBit: 0, endBit: 32 })),
    'a scan without its total': changing('scan', (command) => ({ ...command, total: undefined })),
    'a reduction that omits one element': changing('reduce', ({ extent, ...command }) => ({
      ...command,
      extent: typeof extent === 'number' ? Math.max(0, extent - 1) : extent,
    })),
    'ignored guards': changing('forEach', (command) => ({ ...command, stores: withoutGuards(command.stores) })),
    'ignored guards of walks': changing('walk', (command) => ({ ...command, stores: withoutGuards(command.stores) })),
    'a histogram with one bin too few': changing('histogram', (command) => ({
      ...command,
      bins: Math.max(1, command.bins - 1),
    })),
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
