import { type Column, input, u32 } from '../../primitives/index.ts';
import { chain, chained } from '../experiments/chain.ts';
import { plainChain } from '../experiments/plain.ts';
import { checksum } from '../harness/job.ts';
import { type Bench, timeCalls, timesOf } from './bench.ts';

/** Times the chain of `../experiments/chain.ts`, once in ordinary calls and once as a prepared pipeline. */
export async function measureChain(bench: Bench, n: number): Promise<void> {
  const { context, record } = bench;
  const x = context.column(chain.inputs({ n, type: 'u32' }).x);
  const called = (): Column<'u32'> => context.scope(() => chained(x));
  await timeChain(bench, n, 'quadrille, called', called);
  const prepare = () => context.prepare({ x: input(u32, n) }, (given) => chained(given.x));
  const prepared = prepare();
  await timeChain(bench, n, 'quadrille, prepared', () => prepared({ x }));
  prepared.dispose();
  const toPrepare = await timesOf(bench, () => prepare().dispose());
  record({ what: 'chain', n, library: 'quadrille, prepared', way: 'to prepare', ...toPrepare });
  context.dispose(x);
}

async function timeChain(bench: Bench, n: number, library: string, call: () => Column<'u32'>): Promise<void> {
  const { context } = bench;
  const result = call();
  const sum = checksum([await context.read(result)]);
  context.dispose(result);
  await timeCalls(bench, { what: 'chain', n, library, checksum: sum }, call);
}

/** Times the chain in plain JavaScript on one thread. */
export async function measurePlainChain(bench: Bench, n: number): Promise<void> {
  const { x } = chain.inputs({ n, type: 'u32' });
  const row = { what: 'chain', n, library: 'plain JavaScript', checksum: checksum([plainChain(x)]) };
  await timeCalls(bench, row, () => void plainChain(x));
}
