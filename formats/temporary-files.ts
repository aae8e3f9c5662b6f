import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * A new name of a temporary file, which tells whose it is: `.quadrille-HOST-PID-START-RANDOM.tmp`. HOST stands for the
 * machine's name and, on Linux, the process's namespace, so that a folder that machines or containers share tells them
 * apart; START is when the process began, as far as the system tells it: numbers of processes are used again.
 */
export function temporaryName(): string {
  return `.quadrille-${hostMark()}-${process.pid}-${startOf(process.pid) ?? 0}-${randomBytes(6).toString('hex')}.tmp`;
}

const NAME = /^\.quadrille-([0-9a-f]{12})-([1-9]\d{0,9})-(\d{1,20})-[0-9a-f]{12}\.tmp$/;

/** Removes the temporary files and folders in a folder whose process, of this machine, is gone. What cannot be told or removed stays. */
export async function sweepTemporaries(folder: string): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names.filter(isOrphan)) {
    const path = join(folder, name);
    const entry = await lstat(path).catch(() => undefined);
    if (entry?.isFile() || entry?.isDirectory()) {
      await rm(path, { force: true, recursive: true }).catch(() => undefined);
    }
  }
}

function isOrphan(name: string): boolean {
  const [, host, pid, start] = NAME.exec(name) ?? [];
  return host === hostMark() && !isAlive(Number(pid), start!);
}

/** Whether the process that began at `start` lives still. */
function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process may not be asked, and is alive.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
  const now = startOf(pid);
  return now === undefined || start === '0' || now === start;
}

let mark: string | undefined;

function hostMark(): string {
  mark ??= createHash('sha256').update(`${hostname()} ${processNamespace()}`).digest('hex').slice(0, 12);
  return mark;
}

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** When a process began, in clock ticks since the machine did; undefined where the system does not tell. */
function startOf(pid: number): string | undefined {
  try {
    // The command's name stands in parentheses and may hold anything; the 20th word behind it is the start.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
  } catch {
    return undefined;
  }
}
