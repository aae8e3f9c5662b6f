import { UsageError } from '../formats/usage-error.ts';
import { suggest } from '../primitives/checks/suggest.ts';
import { COMMANDS, type Commands, print, printHelp, type Session } from './commands.ts';
import { EXIT, exitCodeOf } from './failure.ts';
import { MAIN_HELP } from './help.ts';
import { humanLog } from './human-log.ts';
import { Interrupted, type InterruptListener, listenForInterrupts } from './interrupt.ts';
import { jsonLog } from './json-log.ts';
import { type LogStream, withoutRepeats } from './log.ts';
import { type LivelyLog, withSignOfLife } from './sign-of-life.ts';
import { clearBefore } from './standard-output.ts';

/** The output streams of a command. */
export interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & LogStream;
}

/**
 * Runs a command line and returns the exit code of the process. Results are written to stdout and to files, messages to
 * stderr.
 */
export async function main(args: readonly string[], version: string, streams: Streams = process): Promise<number> {
  const { stdout, stderr } = streams;
  const { log, begin, end } = chooseLog(args, stderr);
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
    const takeTime = (): void => {
      impatience.end();
      end();
    };
    clearBefore(stdout, log.clearProgress);
    await dispatch(args, version, { log, stdout, interrupts, begin, takeTime });
    return EXIT.success;
  } catch (error) {
    return failed(error);
  } finally {
    end();
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
function chooseLog(args: readonly string[], stderr: LogStream): LivelyLog {
  const quiet = args.includes('--quiet') || args.includes('-q');
  const isJson = args.includes('--json-log');
  const log = withoutRepeats(isJson ? jsonLog(stderr, { quiet }) : humanLog(stderr, { quiet }));
  const isWatched = stderr.isTTY === true && !isJson && !quiet;
  return isWatched ? withSignOfLife(log, stderr) : { log, begin: () => undefined, end: () => undefined };
}

async function dispatch(args: readonly string[], version: string, session: Session): Promise<void> {
  const [name, ...rest] = args;
  if (name === 'help' && rest.length > 0) {
    // Written `quadrille help zonal`, or `quadrille help zonal all`.
    const isAll = rest.at(-1) === 'all';
    await runOneOf(COMMANDS, '', [...(isAll ? rest.slice(0, -1) : rest), '--help', ...(isAll ? ['all'] : [])], session);
  } else if (name === '--help' || name === '-h' || name === 'help') {
    await printHelp(MAIN_HELP, session);
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
  const command = Object.hasOwn(commands, name ?? '') ? commands[name!] : undefined;
  if (command === undefined) throw unknownCommand(name, before, commands);
  const isFamily = 'of' in command && !HELP.has(rest[0] ?? '');
  if (isFamily) await runOneOf(command.of, `${before}${name} `, rest, session);
  else if ('of' in command || rest.some((word) => HELP.has(word))) {
    const at = rest.findIndex((word) => HELP.has(word));
    await printHelp(await command.help(rest[at + 1] === 'all'), session);
  } else await command.run(rest, session);
}

const HELP: ReadonlySet<string> = new Set(['--help', '-h']);

function unknownCommand(name: string | undefined, before: string, commands: Commands): UsageError {
  const help = `See ${before === '' ? '' : `quadrille ${before}`}--help`;
  if (name === undefined) return new UsageError('usage/no-command', 'No command is given.', { remedy: `${help}.` });
  const meant = suggest(name, Object.keys(commands));
  return new UsageError('usage/unknown-command', `There is no command ${before}${name}.`, {
    remedy: meant === undefined ? `${help} for the commands.` : `Did you mean ${before}${meant}?`,
  });
}
