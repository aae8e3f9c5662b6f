import type { Column } from '../../primitives/index.ts';
import { chain, chained } from '../experiments/chain.ts';
import { plainChain } from '../experiments/plain.ts';
import { checksum } from '../harness/job.ts';
import { type Bench, timeCalls } from './bench.ts';

/** The chain of `../experiments/chain.ts`, as called. */
export async function measureChain(bench: Bench, n: number): Promise<void> {
  const { context } = bench;
  const x = context.column(chain.inputs({ n, type: 'u32' }).x);
  const called = (): Column<'u32'> => context.scope(() => chained(x));
  const result = called();
  const sum = checksum([await context.read(result)]);
  context.dispose(result);
  await timeCalls(bench, { what: 'chain', n, library: 'quadrille, called', checksum: sum }, called);
  context.dispose(x);
}

/** The same in plain JavaScript on one thread. */
export async function measurePlainChain(bench: Bench, n: number): Promise<void> {
  const { x } = chain.inputs({ n, type: 'u32' });
  const row = { what: 'chain', n, library: 'plain JavaScript', checksum: checksum([plainChain(x)]) };
  await timeCalls(bench, row, () => void plainChain(x));
}
