import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The machine, software and date of a measurement. */
export interface MachineFacts {
  readonly date: string;
  readonly cpu: string;
  readonly threads: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly quadrille: string;
  /** The commit of the checkout; undefined for a published package. */
  readonly commit: string | undefined;
}

/** Describes this machine, with today's date. */
export async function machineFacts(): Promise<MachineFacts> {
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model.trim() || 'unknown',
    threads: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${type()} ${release()} ${process.arch}`,
    node: process.versions.node,
    quadrille: versionHere(),
    commit: await commitHere(),
  };
}

/** The package's version. This module is two folders below the package's root as source, and three when compiled. */
function versionHere(): string {
  for (const up of ['../../package.json', '../../../package.json']) {
    try {
      const manifest = JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8'));
      if (manifest.name === 'quadrille') return manifest.version;
    } catch {
      // This path has no readable package.json, so the loop tries the next path.
    }
  }
  return 'unknown';
}

async function commitHere(): Promise<string | undefined> {
  if (!import.meta.url.endsWith('.ts')) return undefined;
  try {
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    const git = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)('git', args, { cwd })).stdout.trim();
    const commit = await git('rev-parse', '--short', 'HEAD');
    return (await git('status', '--porcelain', '--untracked-files=no')) === '' ? commit : `${commit} and changes`;
  } catch {
    return undefined;
  }
}

/** The description of a machine as pairs of name and value. */
export function machineLines(machine: MachineFacts): (readonly [name: string, value: string])[] {
  return [
    ['date', machine.date],
    ['processor', `${machine.cpu}, ${machine.threads} ${machine.threads === 1 ? 'thread' : 'threads'}`],
    ['memory', `${(machine.memoryBytes / 2 ** 30).toFixed(1)} GiB`],
    ['system', machine.system],
    ['Node', machine.node],
    ['Quadrille', machine.quadrille + (machine.commit === undefined ? '' : `, commit ${machine.commit}`)],
  ];
}
