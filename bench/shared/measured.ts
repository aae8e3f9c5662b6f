import { readFile } from 'node:fs/promises';
import { machineFacts } from '../harness/machine.ts';
import { machine } from './measuring.ts';

/** What a file of measurements says about its machine. */
export interface MeasuredOn {
  /** A short name of the machine, as pages show it. */
  readonly label: string;
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
}

export async function measuredOn(label: string): Promise<MeasuredOn> {
  const { date, commit = 'unknown' } = await machineFacts();
  return { label, machine: machine(), date, commit };
}

/** Reads files of measurements that a program wrote; names the program if there are none. */
export async function readMeasured<M>(files: readonly string[], program: string): Promise<M[]> {
  if (files.length === 0) throw new Error(`Name one or more files that ${program} wrote.`);
  return Promise.all(files.map(async (file) => JSON.parse(await readFile(file, 'utf8'))));
}

/** A line of Markdown for the machine of each file. */
export function machinesOf(measured: readonly MeasuredOn[]): string[] {
  return measured.map(({ label, machine, date, commit }) => `- **${label}**: ${machine}; ${date}, commit ${commit}.`);
}
