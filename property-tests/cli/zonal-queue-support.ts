import { Writable } from 'node:stream';
import { exitCodeOf } from '../../cli/failure.ts';
import { jsonLog } from '../../cli/json-log.ts';
import { runZonal } from '../../cli/zonal.ts';
import { parseZonalArguments } from '../../cli/zonal-arguments.ts';
import { type PartitionParts, zonalModule } from '../../cli/zonal-partition.ts';
import { zonalParts } from '../../cli/zonal-parts.ts';
import type { Checkpoints } from '../../cli/zonal-sums.ts';
import { inProcessQueue, type RemoteModules, type WorkQueue } from '../../graph/index.ts';
import { QuadrilleError } from '../../primitives/checks/errors.ts';
import type { Context } from '../../primitives/index.ts';
import type { Workshop } from '../support/cli-support.ts';

/** How a command ended: its output, what it logged, and its error. */
export interface QueueEnding {
  readonly stdout: string;
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly error: QuadrilleError | undefined;
  readonly exitCode: number;
}

export interface QueueSetting {
  /** Cells of a partition. */
  readonly partCells?: number;
  /** Changes the queue, to make it fail. */
  readonly around?: (queue: WorkQueue) => WorkQueue;
  readonly signal?: AbortSignal;
  readonly checkpoints?: Checkpoints;
  /** Number of partitions that are counted at the same time. */
  readonly lanes?: number;
  /** What workers use in place of the real functions. */
  readonly workerParts?: Partial<PartitionParts>;
}

/** Runs `quadrille zonal` with workers in this process. `@NAME` in arguments stands for a path in the workshop. */
export async function zonalOnQueue(
  shop: Workshop,
  context: Context,
  args: readonly string[],
  setting: QueueSetting = {},
): Promise<QueueEnding> {
  const {
    partCells = 4,
    around = (queue) => queue,
    signal = new AbortController().signal,
    checkpoints,
    lanes = 3,
  } = setting;
  const [out, told] = [collector(), collector()];
  const log = jsonLog({ write: (text: string) => told.stream.write(text) }, { quiet: false });
  const module = zonalModule({ ...zonalParts, ...setting.workerParts }, 2 ** 30);
  const modules: RemoteModules = { 'quadrille.zonal': async () => module };
  const parts = {
    ...zonalParts,
    openQueue: async () => around(inProcessQueue({ modules, context, lanes })),
    partCells,
    ...(checkpoints && { checkpoints }),
  };
  const place = ['--queue', 'redis://nowhere', '--queue-folder', shop.path('queue')];
  const words = ['--zones', '@zones.json', ...place, ...args];
  const options = parseZonalArguments(words.map((word) => (word.startsWith('@') ? shop.path(word.slice(1)) : word)));
  const surroundings = { log, stdout: out.stream, signal, beforeExit: () => undefined };
  const error = await runZonal(options, parts, surroundings).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  await module.close();
  if (error !== undefined && !(error instanceof QuadrilleError)) throw error;
  const lines = told
    .text()
    .split('\n')
    .filter((line) => line !== '');
  return {
    stdout: out.text(),
    events: lines.map((line) => JSON.parse(line)),
    error,
    exitCode: error === undefined ? 0 : exitCodeOf(error),
  };
}

/** The same in one process, without a queue. */
export async function zonalHere(shop: Workshop, args: readonly string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await shop.quadrille([
    ...['zonal', '--zones', '@zones.json', '--backend', 'reference'],
    ...args,
  ]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

function collector(): { readonly stream: Writable; readonly text: () => string } {
  let text = '';
  const write: ConstructorParameters<typeof Writable>[0] = {
    decodeStrings: false,
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  };
  return { stream: new Writable(write), text: () => text };
}
