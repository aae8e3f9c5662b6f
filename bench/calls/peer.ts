import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Row } from './bench.ts';

const run = promisify(execFile);

/** Runs the program compiled from `../peers/calls.cu`, and returns its measurements. */
export async function rowsOfPeer(program: string, sizes: readonly number[], rounds: number): Promise<Row[]> {
  const powers = sizes.map((n) => String(Math.log2(n)));
  const { stdout } = await run(program, ['--rounds', String(rounds), ...powers], { maxBuffer: 2 ** 26 });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}
