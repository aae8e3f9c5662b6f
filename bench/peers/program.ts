import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { QuadrilleError } from '../../primitives/checks/errors.ts';
import { builtInExperiments } from '../experiments/index.ts';
import type { Candidate, Round } from '../harness/candidate.ts';
import type { Job } from '../harness/job.ts';
import { sourcePath } from '../shared/sources.ts';

const run = promisify(execFile);

/** A program in `bench/peers/`: its source file, and the command that compiles it. */
export interface ProgramSource {
  readonly file: string;
  readonly compiler: string;
  readonly flags: readonly string[];
}

/** A running program that answers each line `name n variant calls [warm]` with a line `nanoseconds checksum`. */
export interface PeerProgram {
  ask(request: Request): Promise<{ nanoseconds: number; checksum: number }>;
  close(): Promise<void>;
}

interface Request {
  readonly name: string;
  readonly n: number;
  readonly variant: string;
  readonly calls: number;
  /** Whether another candidate has just kept the hardware busy. */
  readonly warm: boolean;
}

/**
 * Runs a command that prints its version, and returns the output without surrounding blanks; undefined if the command
 * fails or is missing.
 */
export async function versionOf(command: string, ...args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, [...args]);
    return stdout.trim();
  } catch {
    return undefined;
  }
}

/**
 * Compiles a program in a temporary folder and starts it; a program compiled elsewhere is only started.
 *
 * @throws QuadrilleError `bench/peer-compile`, `bench/peer-program`.
 */
export async function startProgram(source: ProgramSource, compiled?: string): Promise<PeerProgram> {
  if (compiled !== undefined) return serve(compiled, async () => undefined);
  const folder = await mkdtemp(join(tmpdir(), 'quadrille-peer-'));
  const discard = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const program = join(folder, 'peer');
  try {
    await run(source.compiler, [...source.flags, '-o', program, sourcePath('peers', source.file)]);
  } catch (cause) {
    await discard();
    throw new QuadrilleError('bench/peer-compile', `${source.compiler} did not compile ${source.file}.`, { cause });
  }
  return serve(program, discard);
}

function serve(path: string, discard: () => Promise<void>): PeerProgram {
  // `detached` keeps Ctrl-C from reaching the program: this process ends it by closing its input.
  const child = spawn(path, ['--serve'], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const failed = failureOf(child, path);
  failed.catch(() => undefined);
  // Writing to a program that has ended fails, but the error from `failed` says more.
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask({ name, n, variant, calls, warm }) {
      child.stdin.write(`${name} ${n} ${variant} ${calls}${warm ? ' warm' : ''}\n`);
      const { value = '' } = await Promise.race([lines.next(), failed]);
      const [nanoseconds, checksum] = String(value).split(' ').map(Number);
      if (Number.isFinite(nanoseconds) && Number.isFinite(checksum)) {
        return { nanoseconds: nanoseconds!, checksum: checksum! };
      }
      throw new QuadrilleError('bench/peer-program', `${path} answered: ${String(value) || 'nothing'}.`);
    },
    async close() {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
        const gone = once(child, 'exit');
        child.stdin.end();
        child.kill();
        await gone;
      }
      await discard();
    },
  };
}

function failureOf(child: ChildProcess, path: string): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (reason: string): void =>
      reject(
        new QuadrilleError('bench/peer-program', `${path} ended: ${reason}.`, {
          remedy: 'Compile it again on this machine, or exclude this peer with --peers.',
        }),
      );
    child.on('error', ({ message }) => fail(message));
    child.on('exit', (code, signal) => fail(signal ?? `exit code ${code}`));
  });
}

/** A candidate that runs one variant of a program, for the built-in experiments over u32. */
export function programCandidate(
  facts: Pick<Candidate, 'name' | 'hardware' | 'description'>,
  program: PeerProgram,
  variant: string,
  names: ReadonlySet<string>,
  clock: Round['clock'],
  close: () => Promise<void>,
): Candidate {
  const knows = ({ experiment, type, n }: Job): boolean =>
    builtInExperiments.includes(experiment) && names.has(experiment.name) && type === 'u32' && n > 0;
  return {
    ...facts,
    kind: 'peer',
    async prepare(job) {
      if (!knows(job)) return undefined;
      const { experiment, n } = job;
      const ask = (calls: number, warm = false) => program.ask({ name: experiment.name, n, variant, calls, warm });
      return {
        answer: async () => (await ask(1)).checksum,
        round: async (calls, warm) => ({ time: (await ask(calls, warm)).nanoseconds, clock }),
        close: async () => undefined,
      };
    },
    close,
  };
}
