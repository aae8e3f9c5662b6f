import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * Creates a name for a temporary file: `.quadrille-HOST-PID-START-RANDOM.tmp`. The name identifies this process. HOST
 * identifies the machine and, on Linux, the PID namespace, because several machines or containers may share a folder.
 * PID is the process id. START is the start time of the process, because operating systems reuse process ids; 0 if the
 * start time is unknown.
 */
export function temporaryName(): string {
  return `.quadrille-${hostMark()}-${process.pid}-${startOf(process.pid) ?? 0}-${randomBytes(6).toString('hex')}.tmp`;
}

const NAME = /^\.quadrille-([0-9a-f]{12})-([1-9]\d{0,9})-(\d{1,20})-[0-9a-f]{12}\.tmp$/;

/**
 * Removes the temporary files and folders of processes that ran on this machine and no longer exist. Files of other
 * machines stay, and so do files that cannot be removed.
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

/** Whether the process with the given id still exists and is the one that was started at `start`. */
function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any error except ESRCH means that the process exists. For example, EPERM means that it belongs to another user.
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
    // The command name is in parentheses and may contain any characters. The start time is the 20th field after the
    // closing parenthesis.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
  } catch {
    return undefined;
  }
}
