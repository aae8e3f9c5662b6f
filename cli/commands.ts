import type { Context } from '../primitives/context/context.ts';
import type { OptionSpec } from './command-line.ts';
import type { CommandOptions } from './completion.ts';
import { helpWidth, wrapHelp } from './help-text.ts';
import type { InterruptListener } from './interrupt.ts';
import type { Log } from './log.ts';
import type { Surroundings } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';

/** The log, output and signal handling that a command uses. */
export interface Session {
  readonly log: Log;
  readonly stdout: NodeJS.WritableStream;
  readonly interrupts: InterruptListener;
  /** Shows from now on that the command works. */
  begin(): void;
  /** Lets the command take its time to end after a signal. A second signal ends it at once. */
  takeTime(): void;
}

type Command = (args: readonly string[], session: Session) => Promise<void>;

/** Imports the help text of a command: its first page or, with `all`, the whole, where these differ. */
type Help = (all: boolean) => Promise<string>;

/** Imports the descriptions of a command's options. */
type Specs = () => Promise<readonly OptionSpec[]>;

/** Commands by name. A command either runs code or consists of subcommands. */
export type Commands = Readonly<
  Record<
    string,
    { readonly help: Help } & ({ readonly run: Command; readonly specs: Specs } | { readonly of: Commands })
  >
>;

/**
 * What a command consists of. Each is imported only when the command is called, and its code only when its arguments
 * are valid, because importing takes most of the time of a short run.
 */
interface Imports<O, P> {
  readonly help: Help;
  readonly specs: Specs;
  readonly parse: () => Promise<(args: readonly string[]) => O>;
  readonly run: () => Promise<(options: O, parts: P, surroundings: Surroundings) => Promise<void>>;
  readonly parts: () => Promise<P>;
  /** Whether the command may take its time to end after a signal. A second signal ends it at once. */
  readonly takesTime?: boolean;
}

function command<O, P>({ help, specs, parse, run, parts, takesTime }: Imports<O, P>) {
  return {
    help,
    specs,
    async run(args: readonly string[], session: Session): Promise<void> {
      const options = (await parse())(args);
      session.begin();
      const [runIt, its] = await Promise.all([run(), parts()]);
      if (takesTime === true) session.takeTime();
      await runIt(options, its, surroundingsOf(session));
    },
  };
}

/** Code that needs no parts. */
function withoutParts<O>(run: (options: O, surroundings: Surroundings) => Promise<void>) {
  return (options: O, _parts: undefined, surroundings: Surroundings): Promise<void> => run(options, surroundings);
}

const INDEX_COMMANDS: Commands = {
  build: command({
    help: async () => (await import('./index-help.ts')).BUILD_HELP,
    specs: async () => (await import('./index-arguments.ts')).BUILD_SPECS,
    parse: async () => (await import('./index-arguments.ts')).parseBuildArguments,
    run: async () => (await import('./index-build.ts')).runIndexBuild,
    parts: async () => (await import('./parts.ts')).buildParts,
  }),
  info: command({
    help: async () => (await import('./index-help.ts')).INFO_HELP,
    specs: async () => (await import('./index-arguments.ts')).INFO_SPECS,
    parse: async () => (await import('./index-arguments.ts')).parseInfoArguments,
    run: async () => (await import('./index-info.ts')).runIndexInfo,
    parts: async () => (await import('./parts.ts')).infoParts,
  }),
  query: command({
    help: async () => (await import('./index-help.ts')).QUERY_HELP,
    specs: async () => (await import('./index-query-arguments.ts')).QUERY_SPECS,
    parse: async () => (await import('./index-query-arguments.ts')).parseQueryArguments,
    run: async () => (await import('./index-query.ts')).runIndexQuery,
    parts: async () => (await import('./parts.ts')).queryParts,
  }),
};

const RASTER_COMMANDS: Commands = {
  encode: command({
    help: async () => (await import('./raster-help.ts')).ENCODE_HELP,
    specs: async () => (await import('./raster-arguments.ts')).ENCODE_SPECS,
    parse: async () => (await import('./raster-arguments.ts')).parseEncodeArguments,
    run: async () => (await import('./raster-encode.ts')).runRasterEncode,
    parts: async () => (await import('./parts.ts')).rasterParts,
  }),
  info: command({
    help: async () => (await import('./raster-help.ts')).RASTER_INFO_HELP,
    specs: async () => (await import('./raster-arguments.ts')).RASTER_INFO_SPECS,
    parse: async () => (await import('./raster-arguments.ts')).parseRasterInfoArguments,
    run: async () => (await import('./raster-info.ts')).runRasterInfo,
    parts: async () => (await import('./parts.ts')).rasterParts,
  }),
  decode: command({
    help: async () => (await import('./raster-help.ts')).DECODE_HELP,
    specs: async () => (await import('./raster-arguments.ts')).DECODE_SPECS,
    parse: async () => (await import('./raster-arguments.ts')).parseDecodeArguments,
    run: async () => (await import('./raster-decode.ts')).runRasterDecode,
    parts: async () => (await import('./parts.ts')).rasterParts,
  }),
};

const QUEUE_COMMANDS: Commands = {
  list: command({
    help: async () => (await import('./queue-help.ts')).QUEUE_LIST_HELP,
    specs: async () => (await import('./queue-arguments.ts')).QUEUE_LIST_SPECS,
    parse: async () => (await import('./queue-arguments.ts')).parseQueueListArguments,
    run: async () => (await import('./queue.ts')).runQueueList,
    parts: async () => (await import('./queue-parts.ts')).queueParts,
  }),
  status: command({
    help: async () => (await import('./queue-help.ts')).QUEUE_STATUS_HELP,
    specs: async () => (await import('./queue-arguments.ts')).QUEUE_LIST_SPECS,
    parse: async () => (await import('./queue-arguments.ts')).parseQueueStatusArguments,
    run: async () => (await import('./queue.ts')).runQueueStatus,
    parts: async () => (await import('./queue-parts.ts')).queueParts,
  }),
  cancel: command({
    help: async () => (await import('./queue-help.ts')).QUEUE_CANCEL_HELP,
    specs: async () => (await import('./queue-arguments.ts')).QUEUE_CANCEL_SPECS,
    parse: async () => (await import('./queue-arguments.ts')).parseQueueCancelArguments,
    run: async () => (await import('./queue.ts')).runQueueCancel,
    parts: async () => (await import('./queue-parts.ts')).queueParts,
  }),
};

/** All commands. */
export const COMMANDS: Commands = {
  zonal: command({
    help: async (all) => (await import('./zonal-help.ts'))[all ? 'ZONAL_HELP' : 'ZONAL_FIRST_HELP'],
    specs: async () => (await import('./zonal-arguments.ts')).ZONAL_SPECS,
    parse: async () => (await import('./zonal-arguments.ts')).parseZonalArguments,
    run: async () => (await import('./zonal.ts')).runZonal,
    parts: async () => (await import('./zonal-parts.ts')).zonalParts,
  }),
  raster: { help: async () => (await import('./raster-help.ts')).RASTER_HELP, of: RASTER_COMMANDS },
  compare: command({
    help: async () => (await import('./compare-help.ts')).COMPARE_HELP,
    specs: async () => (await import('./compare-arguments.ts')).COMPARE_SPECS,
    parse: async () => (await import('./compare-arguments.ts')).parseCompareArguments,
    run: async () => (await import('./compare.ts')).runCompare,
    parts: async () => (await import('./parts.ts')).compareParts,
  }),
  track: command({
    help: async () => (await import('./track-help.ts')).TRACK_HELP,
    specs: async () => (await import('./track-arguments.ts')).TRACK_SPECS,
    parse: async () => (await import('./track-arguments.ts')).parseTrackArguments,
    run: async () => (await import('./track.ts')).runTrack,
    parts: async () => (await import('./parts.ts')).trackParts,
  }),
  neighbours: command({
    help: async () => (await import('./neighbours-help.ts')).NEIGHBOURS_HELP,
    specs: async () => (await import('./neighbours-arguments.ts')).NEIGHBOURS_SPECS,
    parse: async () => (await import('./neighbours-arguments.ts')).parseNeighboursArguments,
    run: async () => (await import('./neighbours.ts')).runNeighbours,
    parts: async () => (await import('./parts.ts')).neighboursParts,
  }),
  index: { help: async () => (await import('./index-help.ts')).INDEX_HELP, of: INDEX_COMMANDS },
  table: command({
    help: async () => (await import('./table-help.ts')).TABLE_HELP,
    specs: async () => (await import('./table-arguments.ts')).TABLE_SPECS,
    parse: async () => (await import('./table-arguments.ts')).parseTableArguments,
    run: async () => (await import('./table.ts')).runTable<Context>,
    parts: async () => (await import('./parts.ts')).tableParts,
  }),
  worker: command({
    help: async () => (await import('./worker-help.ts')).WORKER_HELP,
    specs: async () => (await import('./worker-arguments.ts')).WORKER_SPECS,
    parse: async () => (await import('./worker-arguments.ts')).parseWorkerArguments,
    run: async () => (await import('./worker.ts')).runWorker,
    parts: async () => (await import('./worker-parts.ts')).workerParts,
    takesTime: true,
  }),
  queue: { help: async () => (await import('./queue-help.ts')).QUEUE_HELP, of: QUEUE_COMMANDS },
  devices: {
    help: async () => (await import('./devices-help.ts')).DEVICES_HELP,
    specs: async () => (await import('./arguments.ts')).DEVICES_SPECS,
    run: devices,
  },
  bench: command({
    help: async () => (await import('./bench-help.ts')).BENCH_HELP,
    specs: async () => (await import('./bench-arguments.ts')).BENCH_SPECS,
    parse: async () => (await import('./bench-arguments.ts')).parseBenchArguments,
    run: async () => withoutParts((await import('./bench.ts')).runBench),
    parts: async () => undefined,
  }),
  tune: command({
    help: async () => (await import('./bench-help.ts')).TUNE_HELP,
    specs: async () => (await import('./tune-arguments.ts')).TUNE_SPECS,
    parse: async () => (await import('./tune-arguments.ts')).parseTuneArguments,
    run: async () => withoutParts((await import('./tune.ts')).runTune),
    parts: async () => undefined,
  }),
  completion: {
    help: async () => (await import('./completion.ts')).COMPLETION_HELP,
    specs: async () => (await import('./completion.ts')).COMPLETION_SPECS,
    run: completion,
  },
};

function surroundingsOf({ log, stdout, interrupts }: Session): Surroundings {
  return { log, stdout, signal: interrupts.signal, beforeExit: interrupts.beforeExit };
}

/** Writes a text to stdout. */
export async function print(text: string, { stdout, interrupts }: Session): Promise<void> {
  await writeToStdout(stdout, [text], interrupts.signal);
}

/** Writes a help text to stdout, in lines that fit on the terminal. */
export async function printHelp(text: string, session: Session): Promise<void> {
  await print(wrapHelp(text, helpWidth(session.stdout as { readonly columns?: number })), session);
}

async function devices(args: readonly string[], session: Session): Promise<void> {
  const [{ readOptions }, { DEVICES_SPECS }] = await Promise.all([
    import('./command-line.ts'),
    import('./arguments.ts'),
  ]);
  const values = readOptions(args, DEVICES_SPECS);
  const [{ renderDevices }, { findDevices }] = await Promise.all([import('./devices.ts'), import('./parts.ts')]);
  const report = await findDevices();
  const table = (): string => renderDevices(report, { verbose: values.has('verbose') });
  await print(values.has('json') ? `${JSON.stringify(report, null, 2)}\n` : table(), session);
}

async function completion(args: readonly string[], session: Session): Promise<void> {
  const { parseCompletionArguments } = await import('./completion.ts');
  await print(parseCompletionArguments(args)(await optionsOf(COMMANDS, '')), session);
}

/** All commands with their options, each after the family of which it is. */
async function optionsOf(commands: Commands, before: string): Promise<CommandOptions[]> {
  const found = await Promise.all(
    Object.entries(commands).map(async ([name, one]): Promise<CommandOptions[]> => {
      const path = `${before}${name}`;
      if ('specs' in one) return [{ path, specs: await one.specs() }];
      return [{ path, specs: undefined }, ...(await optionsOf(one.of, `${path} `))];
    }),
  );
  return found.flat();
}
