import { sequence } from '../../primitives/index.ts';
import { type Bench, heater, type Row } from '../calls/bench.ts';
import { measureChain, measurePlainChain } from '../calls/chain.ts';
import { printLaunches } from '../calls/launches.ts';
import { measureLoops, measurePlainLoops } from '../calls/loops.ts';
import { rowsOfPeer } from '../calls/peer.ts';
import { differences, printTables } from '../calls/report.ts';
import { measureSelectKth, measureTransfers } from '../calls/transfers.ts';
import { machine } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Measures how long a caller waits for a chain of five primitives (alone, and many times in a row), for a round of a
 * loop, for transfers, and for selectKth. The times are by the host's clock, with the default settings of `open`. The
 * launches of the chain are also timed by the device's clock. `--plain` adds the chain and the loops in plain
 * JavaScript. If `--peer` names the program compiled from `peers/calls.cu`, the same work in Thrust and CUB is added.
 * Results of the same work must have equal checksums. A ratio in brackets is the time of plain JavaScript, Thrust or
 * CUB divided by our fastest time: above 1, ours is faster.
 *
 * node --import tsx bench/primitives/whole-calls.ts [--backend webgpu|workers|reference] [--adapter hardware|software] [--workers 2]
 *   [--sizes 10,14,16,18,20,22] [--only chain,loops,transfers,selectKth,launches] [--in-a-row 50] [--rounds 1000] [--times 7]
 *   [--transfer 256] [--peer ./calls] [--plain] [--cold]
 *
 * `--transfer` is in MiB. Unless `--cold` is given, the GPU is kept busy for a quarter of a second before each
 * measurement, so that it raises its clock frequency.
 */
const options = programOptions({
  ...{ backend: 'webgpu', adapter: undefined, workers: undefined, sizes: [10, 14, 16, 18, 20, 22] },
  ...{ only: 'chain,loops,transfers,selectKth,launches', 'in-a-row': 50, rounds: 1000, times: 7 },
  ...{ transfer: 256, peer: undefined, plain: false, cold: false },
});
/** Maximum rows for loops and for selectKth. */
const LARGEST_LOOP = 2 ** 20;

const { rounds } = options;
const sizes = options.sizes.map((power) => 2 ** power);
const wanted = new Set(options.only.split(','));
const rows: Row[] = [];
const peerRows = options.peer === undefined ? [] : await rowsOfPeer(options.peer, sizes, rounds);

await using context = await openNamed(options);
const heats = context.backend.name === 'webgpu' && options.adapter !== 'software' && !options.cold;
const bench: Bench = {
  context,
  sizes,
  inARow: options['in-a-row'],
  rounds,
  times: options.times,
  transferWords: options.transfer * 2 ** 18,
  heat: heats ? heater(context, (count) => context.materialize(sequence(count))) : async () => {},
  record: (row) => void rows.push(row),
};
console.log(`${machine()}; ${context.backend.name}; medians of ${bench.times}, ${bench.inARow} calls in a row`);
for (const n of sizes) {
  if (wanted.has('chain')) await measureChain(bench, n);
  if (wanted.has('chain') && options.plain) await measurePlainChain(bench, n);
  if (n > LARGEST_LOOP) continue;
  if (wanted.has('loops')) await measureLoops(bench, n);
  if (wanted.has('loops') && options.plain) await measurePlainLoops(bench, n);
  if (wanted.has('selectKth')) await measureSelectKth(bench, n);
}
if (wanted.has('transfers')) await measureTransfers(bench);

for (const row of peerRows) rows.push(row);
printTables(rows);
for (const difference of differences(rows)) {
  console.error(difference);
  process.exitCode = 1;
}
if (wanted.has('launches')) await printLaunches(bench);
