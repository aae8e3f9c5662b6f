// The functions that the workers of tests do.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type NodeContext, UnfitWorkerError } from '../../graph/index.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';

export const double = (x: number): number => 2 * x;

export const wait = async ({ value, milliseconds }: { value: number; milliseconds: number }): Promise<number> => {
  await delay(milliseconds);
  return value * value;
};

/** Works without a pause, so the event loop stands still. */
export const busy = ({ value, milliseconds }: { value: number; milliseconds: number }): number => {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  return value * value;
};

export const swell = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i % 251);

export const fail = (value: number): never => {
  throw new ArgumentError('test/bad', 'Bad.', { expected: 'good', got: value });
};

/** Fails in the process that is the first to try, however often. The file remembers it. */
export const failHere = (file: string): string => {
  if (!existsSync(file)) writeFileSync(file, `${process.pid}`);
  if (readFileSync(file, 'utf8') === `${process.pid}`) throw new Error('Not here.');
  return 'done elsewhere';
};

/** As `failHere`, with an error that says that it is the worker's. */
export const unfitHere = (file: string): string => {
  try {
    return failHere(file);
  } catch (error) {
    throw new UnfitWorkerError(error as Error);
  }
};

/** Ends the process, the first `times` times, which marks in a file count. */
export const die = ({ file, times }: { file: string; times: number }): string => {
  for (let time = 1; time <= times; time++) {
    if (existsSync(`${file}-${time}`)) continue;
    writeFileSync(`${file}-${time}`, '');
    process.kill(process.pid, 'SIGKILL');
  }
  return 'alive';
};

export const forever = (_: unknown, { signal }: NodeContext<unknown>): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

/** Work that takes some time. */
export interface Chore {
  readonly value: number;
  readonly milliseconds: number;
  readonly data: Uint8Array;
  /** Length of the result. */
  readonly length: number;
}

/** Takes some time, and returns bytes that depend on all of the item. */
export const chore = async ({ value, milliseconds, data, length }: Chore): Promise<Uint8Array> => {
  await delay(milliseconds);
  const sum = data.reduce((total, byte) => total + byte, value);
  return Uint8Array.from({ length }, (_, i) => (sum + i) % 251);
};

/** Never ends the first `times` times, which marks in a file count, whatever its signal says. */
export const hang = async ({ file, times }: { file: string; times: number }): Promise<string> => {
  for (let time = 1; time <= times; time++) {
    if (existsSync(`${file}-${time}`)) continue;
    writeFileSync(`${file}-${time}`, '');
    await new Promise(() => undefined);
  }
  return 'done';
};

/** Throws what no function should throw. */
export const blurt = (what: 'nothing' | 'text' | 'number' | 'nothing, later'): never | Promise<never> => {
  if (what === 'nothing, later') return Promise.reject(undefined);
  throw { nothing: undefined, text: 'a text', number: 7 }[what];
};

export const failOdd = (value: number): number => (value % 2 === 0 ? value : fail(value));
