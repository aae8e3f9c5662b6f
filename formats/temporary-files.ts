import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * A new name for a temporary file, which identifies its process: `.quadrille-HOST-PID-START-RANDOM.tmp`. HOST
 * identifies the machine and, on Linux, the process's namespace, because machines or containers may share a folder.
 * START is the start time of the process, if the system tells it, because process ids are reused.
 */
export function temporaryName(): string {
  return `.quadrille-${hostMark()}-${process.pid}-${startOf(process.pid) ?? 0}-${randomBytes(6).toString('hex')}.tmp`;
}

const NAME = /^\.quadrille-([0-9a-f]{12})-([1-9]\d{0,9})-(\d{1,20})-[0-9a-f]{12}\.tmp$/;

/**
 * Removes temporary files and folders whose process, on this machine, no longer exists. Files that cannot be attributed
 * or removed stay.
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

/** Whether the process that began at `start` is still alive. */
function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // The process of another user may not be signalled, but it exists.
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

/** Start time of a process, in clock ticks since boot; undefined if the system does not tell. */
function startOf(pid: number): string | undefined {
  try {
    // The command name is in parentheses and may contain anything. The start time is the 20th word after it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
  } catch {
    return undefined;
  }
}
