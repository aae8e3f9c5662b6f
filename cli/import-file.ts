import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { UsageError } from '../formats/usage-error.ts';
import { messageOf } from '../primitives/checks/message-of.ts';
import { installRemedy } from '../primitives/host/optional-packages.ts';

/** The code and the remedy of the errors of {@link importFile}. */
export interface ImportFaults {
  readonly code: string;
  readonly remedy: string;
}

/**
 * Imports a user's module by its path, and returns what it exports. The module may be in TypeScript where the package
 * `tsx` is installed.
 *
 * @throws UsageError with the given code if there is no such file or the module cannot be loaded.
 */
export async function importFile(file: string, faults: ImportFaults): Promise<object> {
  const path = resolve(file);
  if (!existsSync(path)) throw unreadable(faults, file, 'there is no such file');
  if (/\.[mc]?ts$/.test(path)) await useTypeScript(faults, file);
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    const reason = messageOf(cause);
    throw unreadable(faults, file, reason, cause, cause instanceof SyntaxError ? await lineOfFault(path) : undefined);
  }
}

/**
 * Finds the line number of a syntax error with `node --check`, because the error that `import` throws does not contain
 * the number.
 */
async function lineOfFault(path: string): Promise<number | undefined> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--check', path]).catch((error) => error);
  const [, line] = /^.*:(\d+)\n/.exec(stderr) ?? [];
  return line === undefined ? undefined : Number(line);
}

/**
 * Registers tsx, so that a module in TypeScript can be imported. Does nothing in a checkout of this library, which
 * already runs under tsx.
 */
async function useTypeScript({ code }: ImportFaults, file: string): Promise<void> {
  if (import.meta.url.endsWith('.ts')) return;
  try {
    (await import('tsx/esm/api')).register();
  } catch (cause) {
    throw new UsageError(code, `${file} is TypeScript, which needs the package tsx; an .mjs file does not.`, {
      remedy: installRemedy(['tsx']),
      cause,
    });
  }
}

function unreadable(
  { code, remedy }: ImportFaults,
  file: string,
  reason: string,
  cause?: unknown,
  line?: number,
): UsageError {
  const what = line === undefined ? file : 'The module';
  return new UsageError(code, `${what} cannot be loaded: ${reason.replace(/\.$/, '')}.`, {
    remedy,
    place: line === undefined ? undefined : { file, line },
    cause,
  });
}
