import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * Creates a name for a temporary file that identifies its process: `.quadrille-HOST-PID-START-RANDOM.tmp`. HOST
 * identifies the machine and, on Linux, the PID namespace, because machines and containers may share a folder. START is
 * the start time of the process if known, because process ids are reused.
 */
export function temporaryName(): string {
  return `.quadrille-${hostMark()}-${process.pid}-${startOf(process.pid) ?? 0}-${randomBytes(6).toString('hex')}.tmp`;
}

const NAME = /^\.quadrille-([0-9a-f]{12})-([1-9]\d{0,9})-(\d{1,20})-[0-9a-f]{12}\.tmp$/;

/**
 * Removes temporary files and folders of processes on this machine that no longer exist. Files of other machines stay,
 * and so do files that cannot be removed.
 */
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

/** Whether the process with this id still exists and is the one that began at `start`. */
function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user exists, although this process must not signal it (EPERM).
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

/** Start time of a process, in clock ticks since boot; undefined if the operating system does not provide it. */
function startOf(pid: number): string | undefined {
  try {
    // The command name is in parentheses and may contain any characters. The start time is the 20th word after it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
  } catch {
    return undefined;
  }
}
