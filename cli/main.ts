import { UsageError } from '../formats/usage-error.ts';
import { EXIT, exitCodeOf } from './failure.ts';
import { MAIN_HELP } from './help.ts';
import { humanLog } from './human-log.ts';
import { Interrupted, type InterruptListener, listenForInterrupts } from './interrupt.ts';
import { jsonLog } from './json-log.ts';
import { type Log, type LogStream, withoutRepeats } from './log.ts';
import type { Surroundings } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';
import { suggest } from './suggest.ts';

/** The output streams of a command. */
export interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & LogStream;
}

/** The log, output and signal handling that a command uses. */
interface Session {
  readonly log: Log;
  readonly stdout: NodeJS.WritableStream;
  readonly interrupts: InterruptListener;
  /** Lets the command take its time to end after a signal. A second signal ends it at once. */
  takeTime(): void;
}

type Command = (args: readonly string[], session: Session) => Promise<void>;

/** Imports the help text of a command. */
type Help = () => Promise<string>;

/**
 * Commands by name. A command either runs code or consists of subcommands. The code and options of a command are
 * imported only when the command is called, because importing takes most of the time of a short run.
 */
type Commands = ReadonlyMap<string, { readonly help: Help } & ({ readonly run: Command } | { readonly of: Commands })>;

const INDEX_COMMANDS: Commands = new Map([
  ['build', { help: async () => (await import('./index-help.ts')).BUILD_HELP, run: indexBuild }],
  ['info', { help: async () => (await import('./index-help.ts')).INFO_HELP, run: indexInfo }],
  ['query', { help: async () => (await import('./index-help.ts')).QUERY_HELP, run: indexQuery }],
]);

const RASTER_COMMANDS: Commands = new Map([
  ['encode', { help: async () => (await import('./raster-help.ts')).ENCODE_HELP, run: rasterEncode }],
  ['info', { help: async () => (await import('./raster-help.ts')).RASTER_INFO_HELP, run: rasterInfo }],
  ['decode', { help: async () => (await import('./raster-help.ts')).DECODE_HELP, run: rasterDecode }],
]);

const QUEUE_COMMANDS: Commands = new Map([
  ['list', { help: async () => (await import('./queue-help.ts')).QUEUE_LIST_HELP, run: queueList }],
  ['status', { help: async () => (await import('./queue-help.ts')).QUEUE_STATUS_HELP, run: queueStatus }],
  ['cancel', { help: async () => (await import('./queue-help.ts')).QUEUE_CANCEL_HELP, run: queueCancel }],
]);

const COMMANDS: Commands = new Map([
  ['zonal', { help: async () => (await import('./zonal-help.ts')).ZONAL_HELP, run: zonal }],
  ['raster', { help: async () => (await import('./raster-help.ts')).RASTER_HELP, of: RASTER_COMMANDS }],
  ['compare', { help: async () => (await import('./compare-help.ts')).COMPARE_HELP, run: compare }],
  ['track', { help: async () => (await import('./track-help.ts')).TRACK_HELP, run: track }],
  ['neighbours', { help: async () => (await import('./neighbours-help.ts')).NEIGHBOURS_HELP, run: neighbours }],
  ['index', { help: async () => (await import('./index-help.ts')).INDEX_HELP, of: INDEX_COMMANDS }],
  ['table', { help: async () => (await import('./table-help.ts')).TABLE_HELP, run: table }],
  ['worker', { help: async () => (await import('./worker-help.ts')).WORKER_HELP, run: worker }],
  ['queue', { help: async () => (await import('./queue-help.ts')).QUEUE_HELP, of: QUEUE_COMMANDS }],
  ['devices', { help: async () => (await import('./devices-help.ts')).DEVICES_HELP, run: devices }],
  ['bench', { help: async () => (await import('./bench-help.ts')).BENCH_HELP, run: bench }],
  ['tune', { help: async () => (await import('./bench-help.ts')).TUNE_HELP, run: tune }],
]);

/**
 * Runs a command line and returns the exit code of the process. Results are written to stdout and to files, messages to
 * stderr.
 */
export async function main(args: readonly string[], version: string, streams: Streams = process): Promise<number> {
  const { stdout, stderr } = streams;
  const log = chooseLog(args, stderr);
  using interrupts = listenForInterrupts(args);
  interrupts.beforeExit(() => log.clearProgress());
  // Ignored, so that a run continues if the reader of stderr has closed the pipe.
  stderr.on('error', () => undefined);
  const failed = (error: unknown): number => {
    const cause = interrupts.signal.aborted && !(error instanceof Interrupted) ? interrupts.signal.reason : error;
    const exitCode = exitCodeOf(cause);
    log.clearProgress();
    log.error(cause, exitCode);
    return exitCode;
  };
  const impatience = endIfBlocked(interrupts, failed);
  try {
    await dispatch(args, version, { log, stdout, interrupts, takeTime: impatience.end });
    return EXIT.success;
  } catch (error) {
    return failed(error);
  } finally {
    impatience.end();
  }
}

/** Time in milliseconds within which an interrupted command must end by itself. */
const PATIENCE = 6000;

/**
 * Ends the process if an interrupted command does not end by itself, for example because a file system does not
 * respond.
 */
function endIfBlocked(interrupts: InterruptListener, failed: (error: unknown) => void): { end(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (): void => {
    timer = setTimeout(() => {
      failed(interrupts.signal.reason);
      interrupts.endNow();
    }, PATIENCE);
  };
  interrupts.signal.addEventListener('abort', begin, { once: true });
  return {
    end: () => {
      interrupts.signal.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}

/**
 * Chooses the form of the log before the arguments are parsed, so that errors in the arguments are also logged in this
 * form.
 */
function chooseLog(args: readonly string[], stderr: LogStream): Log {
  const quiet = args.includes('--quiet');
  return withoutRepeats(args.includes('--json-log') ? jsonLog(stderr, { quiet }) : humanLog(stderr, { quiet }));
}

async function dispatch(args: readonly string[], version: string, session: Session): Promise<void> {
  const [name] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    await print(MAIN_HELP, session);
  } else if (name === '--version' || name === '-V') {
    await print(`${version}\n`, session);
  } else {
    await runOneOf(COMMANDS, '', args, session);
  }
}

/**
 * Runs the command whose name is the first argument. In error messages, the text `before` (for example `index `)
 * precedes the names of commands.
 */
async function runOneOf(commands: Commands, before: string, args: readonly string[], session: Session): Promise<void> {
  const [name, ...rest] = args;
  const command = commands.get(name ?? '');
  if (command === undefined) throw unknownCommand(name, before, commands);
  const isFamily = 'of' in command && !HELP.has(rest[0] ?? '');
  if (isFamily) await runOneOf(command.of, `${before}${name} `, rest, session);
  else if ('of' in command || rest.some((word) => HELP.has(word))) await print(await command.help(), session);
  else await command.run(rest, session);
}

async function print(text: string, { stdout, interrupts }: Session): Promise<void> {
  await writeToStdout(stdout, [text], interrupts.signal);
}

const HELP: ReadonlySet<string> = new Set(['--help', '-h']);

function unknownCommand(name: string | undefined, before: string, commands: Commands): UsageError {
  const help = `See ${before === '' ? '' : `quadrille ${before}`}--help`;
  if (name === undefined) return new UsageError('usage/no-command', 'No command is given.', { remedy: `${help}.` });
  const meant = suggest(name, [...commands.keys()]);
  return new UsageError('usage/unknown-command', `There is no command ${before}${name}.`, {
    remedy: meant === undefined ? `${help} for the commands.` : `Did you mean ${before}${meant}?`,
  });
}

function surroundingsOf({ log, stdout, interrupts }: Session): Surroundings {
  return { log, stdout, signal: interrupts.signal, beforeExit: interrupts.beforeExit };
}

async function zonal(args: readonly string[], session: Session): Promise<void> {
  const { parseZonalArguments } = await import('./arguments.ts');
  const options = parseZonalArguments(args);
  const [{ runZonal }, { zonalParts }] = await Promise.all([import('./zonal.ts'), import('./parts.ts')]);
  await runZonal(options, zonalParts, surroundingsOf(session));
}

async function rasterEncode(args: readonly string[], session: Session): Promise<void> {
  const { parseEncodeArguments } = await import('./raster-arguments.ts');
  const options = parseEncodeArguments(args);
  const [{ runRasterEncode }, { rasterParts }] = await Promise.all([
    import('./raster-encode.ts'),
    import('./raster-parts.ts'),
  ]);
  await runRasterEncode(options, rasterParts, surroundingsOf(session));
}

async function rasterInfo(args: readonly string[], session: Session): Promise<void> {
  const { parseRasterInfoArguments } = await import('./raster-arguments.ts');
  const options = parseRasterInfoArguments(args);
  const [{ runRasterInfo }, { rasterParts }] = await Promise.all([
    import('./raster-info.ts'),
    import('./raster-parts.ts'),
  ]);
  await runRasterInfo(options, rasterParts, surroundingsOf(session));
}

async function rasterDecode(args: readonly string[], session: Session): Promise<void> {
  const { parseDecodeArguments } = await import('./raster-arguments.ts');
  const options = parseDecodeArguments(args);
  const [{ runRasterDecode }, { rasterParts }] = await Promise.all([
    import('./raster-decode.ts'),
    import('./raster-parts.ts'),
  ]);
  await runRasterDecode(options, rasterParts, surroundingsOf(session));
}

async function compare(args: readonly string[], session: Session): Promise<void> {
  const { parseCompareArguments } = await import('./compare-arguments.ts');
  const options = parseCompareArguments(args);
  const [{ runCompare }, { compareParts }] = await Promise.all([import('./compare.ts'), import('./parts.ts')]);
  await runCompare(options, compareParts, surroundingsOf(session));
}

async function track(args: readonly string[], session: Session): Promise<void> {
  const { parseTrackArguments } = await import('./track-arguments.ts');
  const options = parseTrackArguments(args);
  const [{ runTrack }, { trackParts }] = await Promise.all([import('./track.ts'), import('./parts.ts')]);
  await runTrack(options, trackParts, surroundingsOf(session));
}

async function neighbours(args: readonly string[], session: Session): Promise<void> {
  const { parseNeighboursArguments } = await import('./neighbours-arguments.ts');
  const options = parseNeighboursArguments(args);
  const [{ runNeighbours }, { neighboursParts }] = await Promise.all([
    import('./neighbours.ts'),
    import('./neighbours-parts.ts'),
  ]);
  await runNeighbours(options, neighboursParts, surroundingsOf(session));
}

async function table(args: readonly string[], session: Session): Promise<void> {
  const { parseTableArguments } = await import('./table-arguments.ts');
  const options = parseTableArguments(args);
  const [{ runTable }, { tableParts }] = await Promise.all([import('./table.ts'), import('./table-parts.ts')]);
  await runTable(options, tableParts, surroundingsOf(session));
}

async function indexBuild(args: readonly string[], session: Session): Promise<void> {
  const { parseBuildArguments } = await import('./index-arguments.ts');
  const options = parseBuildArguments(args);
  const [{ runIndexBuild }, { buildParts }] = await Promise.all([
    import('./index-build.ts'),
    import('./index-parts.ts'),
  ]);
  await runIndexBuild(options, buildParts, surroundingsOf(session));
}

async function indexInfo(args: readonly string[], session: Session): Promise<void> {
  const { parseInfoArguments } = await import('./index-arguments.ts');
  const options = parseInfoArguments(args);
  const [{ runIndexInfo }, { infoParts }] = await Promise.all([import('./index-info.ts'), import('./index-parts.ts')]);
  await runIndexInfo(options, infoParts, surroundingsOf(session));
}

async function indexQuery(args: readonly string[], session: Session): Promise<void> {
  const { parseQueryArguments } = await import('./index-query-arguments.ts');
  const options = parseQueryArguments(args);
  const [{ runIndexQuery }, { queryParts }] = await Promise.all([
    import('./index-query.ts'),
    import('./index-parts.ts'),
  ]);
  await runIndexQuery(options, queryParts, surroundingsOf(session));
}

async function worker(args: readonly string[], session: Session): Promise<void> {
  const { parseWorkerArguments } = await import('./worker-arguments.ts');
  const options = parseWorkerArguments(args);
  const [{ runWorker }, { workerParts }] = await Promise.all([import('./worker.ts'), import('./worker-parts.ts')]);
  session.takeTime();
  await runWorker(options, workerParts, surroundingsOf(session));
}

async function queueList(args: readonly string[], session: Session): Promise<void> {
  const { parseQueueListArguments } = await import('./queue-arguments.ts');
  const options = parseQueueListArguments(args);
  const [{ runQueueList }, { queueParts }] = await Promise.all([import('./queue.ts'), import('./queue-parts.ts')]);
  await runQueueList(options, queueParts, surroundingsOf(session));
}

async function queueStatus(args: readonly string[], session: Session): Promise<void> {
  const { parseQueueStatusArguments } = await import('./queue-arguments.ts');
  const options = parseQueueStatusArguments(args);
  const [{ runQueueStatus }, { queueParts }] = await Promise.all([import('./queue.ts'), import('./queue-parts.ts')]);
  await runQueueStatus(options, queueParts, surroundingsOf(session));
}

async function queueCancel(args: readonly string[], session: Session): Promise<void> {
  const { parseQueueCancelArguments } = await import('./queue-arguments.ts');
  const options = parseQueueCancelArguments(args);
  const [{ runQueueCancel }, { queueParts }] = await Promise.all([import('./queue.ts'), import('./queue-parts.ts')]);
  await runQueueCancel(options, queueParts, surroundingsOf(session));
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

async function bench(args: readonly string[], session: Session): Promise<void> {
  const { parseBenchArguments } = await import('./bench-arguments.ts');
  const options = parseBenchArguments(args);
  const { runBench } = await import('./bench.ts');
  await runBench(options, surroundingsOf(session));
}

async function tune(args: readonly string[], session: Session): Promise<void> {
  const { parseTuneArguments } = await import('./tune-arguments.ts');
  const options = parseTuneArguments(args);
  const { runTune } = await import('./tune.ts');
  await runTune(options, surroundingsOf(session));
}
