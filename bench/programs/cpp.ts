import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { QuadrilleError } from '../../primitives/checks/errors.ts';
import type { Took } from '../shared/measuring.ts';
import { CPP_FLAGS, sourcePath } from '../shared/sources.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import type { Case } from './program.ts';

/** A compiled C++ program. Disposing of it removes its file. */
export interface CompiledCpp extends AsyncDisposable {
  start(one: Case, threads: number): Promise<CppProgram>;
}

/** A C++ program that holds the arrays of a case. */
export interface CppProgram extends AsyncDisposable {
  /** Computes the answer anew. */
  run(): Promise<Took>;
  /** Ends the program; returns the arrays of its last answer as bytes. */
  end(): Promise<Uint8Array[]>;
}

/** Compiles a program of this folder. Undefined if there is no compiler. */
export async function compileCpp(source: string): Promise<CompiledCpp | undefined> {
  const folder = await temporaryFolder('quadrille-program-');
  const program = join(folder.path, 'program');
  const compiler = process.env.CXX ?? 'g++';
  try {
    await promisify(execFile)(compiler, [...CPP_FLAGS, '-o', program, sourcePath('programs', source)]);
  } catch (cause) {
    await folder[Symbol.asyncDispose]();
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new QuadrilleError('bench/peer-compile', `${compiler} did not compile ${source}.`, { cause });
  }
  return {
    start: (one, threads) => start(program, source, one, threads),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function start(program: string, source: string, one: Case, threads: number): Promise<CppProgram> {
  const folder = await temporaryFolder('quadrille-case-');
  const [input, output] = ['input', 'output'].map((name) => join(folder.path, name));
  await writeFile(input!, inputBytes(one));
  const sizes = Object.values(one.sizes).map(String);
  // `detached` keeps Ctrl-C from reaching the program: this process ends it by closing its input.
  const child = spawn(program, [input!, output!, String(threads), ...sizes], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  // Where a program cannot start or has ended, `run` says so.
  child.stdin.on('error', () => undefined);
  const gone = once(child, 'close').catch(() => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run() {
      child.stdin.write('\n');
      const { value, done } = await lines.next();
      if (done === true) throw new QuadrilleError('bench/peer-program', `The program of ${source} ended early.`);
      const [wall, processor] = value.split(' ').map(Number) as [number, number];
      return { wall: wall / 1000, processor: processor / 1000 };
    },
    async end() {
      child.stdin.end();
      await gone;
      return arraysIn(await readFile(output!));
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await gone;
      await folder[Symbol.asyncDispose]();
    },
  };
}

function inputBytes({ inputs }: Case): Buffer {
  const arrays = Object.values(inputs);
  const word = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
  const bytes = arrays.map((array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return Buffer.concat([word(arrays.length), ...bytes.flatMap((each) => [word(each.length), each])]);
}

function arraysIn(file: Buffer): Uint8Array[] {
  const word = (at: number): number => Number(file.readBigUInt64LE(at));
  let at = 8;
  return Array.from({ length: word(0) }, () => {
    const length = word(at);
    at += 8 + length;
    return file.subarray(at - length, at);
  });
}
