import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Took } from '../shared/measuring.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import type { Case } from './program.ts';

/** A C++ program that holds the arrays of a case. */
export interface CppProgram extends AsyncDisposable {
  /** Computes the answer anew. */
  run(): Promise<Took>;
  /** Ends the program; returns the arrays of its last answer as bytes. */
  end(): Promise<Uint8Array[]>;
}

/** Compiles a program of this folder and starts it on a case. Undefined if there is no compiler. */
export async function startCpp(source: string, one: Case, threads: number): Promise<CppProgram | undefined> {
  const folder = await temporaryFolder('quadrille-program-');
  const [program, input, output] = ['program', 'input', 'output'].map((name) => join(folder.path, name));
  const path = fileURLToPath(new URL(`./${source}`, import.meta.url));
  try {
    const compiler = process.env.CXX ?? 'g++';
    await promisify(execFile)(compiler, [...['-O3', '-march=native', '-std=c++20', '-pthread', '-o', program!, path]]);
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  await writeFile(input!, inputBytes(one));
  const sizes = Object.values(one.sizes).map(String);
  const child = spawn(program!, [input!, output!, String(threads), ...sizes], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run() {
      child.stdin.write('\n');
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${source} ended early.`);
      const [wall, processor] = value.split(' ').map(Number) as [number, number];
      return { wall: wall / 1000, processor: processor / 1000 };
    },
    async end() {
      const gone = once(child, 'exit');
      child.stdin.end();
      await gone;
      return arraysIn(await readFile(output!));
    },
    async [Symbol.asyncDispose]() {
      child.kill();
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
