import { spawnSync } from 'node:child_process';
import { median, spreadOf } from './measuring.ts';

/** A run of a program. */
export interface Run {
  readonly seconds: number;
  /** Processor seconds of all threads. */
  readonly cpuSeconds: number;
  /** Peak resident memory in bytes. */
  readonly bytes: number;
  /** What the program wrote. */
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command until its end; returns its time, processor time and peak memory. */
export function timed(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
  const start = performance.now();
  const run = spawnSync('/usr/bin/time', ['-f', '%U %S %M', command, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, ...env },
  });
  const seconds = (performance.now() - start) / 1000;
  if (run.status !== 0) throw new Error(`${command} ended with ${run.status}: ${run.stderr}`);
  const lines = run.stderr.trim().split('\n');
  const [user, system, kilobytes] = lines.pop()!.split(' ').map(Number);
  const written = { stdout: run.stdout, stderr: lines.join('\n') };
  return { seconds, cpuSeconds: user! + system!, bytes: 1024 * kilobytes!, ...written };
}

/** Median of the processor seconds, as text. */
export function cpuOf(runs: readonly Run[]): string {
  return median(runs.map(({ cpuSeconds }) => cpuSeconds)).toFixed(2);
}

/** Median, minimum and maximum of the seconds, as text. */
export function shown(runs: readonly Run[]): string {
  const { median, min, max } = spreadOf(runs.map(({ seconds }) => seconds));
  return `${median.toFixed(2)} (${min.toFixed(2)} … ${max.toFixed(2)})`;
}
