import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { UsageError } from '../usage-error.ts';

/**
 * The files that paths and patterns name, in the order of the patterns and sorted by name within each. `*` stands for any
 * characters of a name, `?` for one, `[a-c]` for one of these and `[!a-c]` for another; `**` for any folders. A name that
 * begins with a dot is meant by a pattern that begins with one. A file whose very name has such characters is that file.
 *
 * @throws UsageError `usage/no-match` if a pattern names no file.
 */
export async function expandPatterns(patterns: readonly string[], option: string): Promise<string[]> {
  const files: string[][] = [];
  for (const pattern of patterns) files.push(await expand(pattern, option));
  return files.flat();
}

const MAGIC = /[*?[]/;
/** An address, which is no pattern: `https://example.org/a.tif?b`. */
const ADDRESS = /^[a-z][a-z0-9+.-]+:\/\//i;

async function expand(pattern: string, option: string): Promise<string[]> {
  if (!MAGIC.test(pattern) || ADDRESS.test(pattern) || (await exists(pattern))) return [pattern];
  const segments = pattern.split(process.platform === 'win32' ? /[\\/]/ : '/');
  // A pattern with several ** may lead to a file in several ways.
  const files = new Set<string>();
  for await (const file of walk('', segments)) files.add(file);
  if (files.size > 0) return [...files].sort();
  throw new UsageError('usage/no-match', `${option} ${pattern} matches no file.`, {
    remedy: "Check the folder and the ending; a pattern is written as 'relief/*.tif', in quotes.",
  });
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The files below `folder`, which ends in a slash or is empty, that match the segments of a pattern. */
async function* walk(folder: string, [segment, ...rest]: readonly string[]): AsyncGenerator<string> {
  if (segment === undefined) return;
  if (!MAGIC.test(segment)) {
    const path = `${folder}${segment}`;
    if (rest.length > 0) yield* walk(`${path}/`, rest);
    else if (await exists(path)) yield path;
    return;
  }
  const isDeep = segment === '**' && rest.length > 0;
  const matches = isDeep ? undefined : matcherOf(segment);
  if (isDeep) yield* walk(folder, rest);
  for (const entry of await entriesOf(folder)) {
    const path = `${folder}${entry.name}`;
    if (isDeep) {
      // Links to folders are not followed, because they may lead in circles.
      if (entry.isDirectory() && !entry.name.startsWith('.')) yield* walk(`${path}/`, [segment, ...rest]);
    } else if (matches!(entry.name)) {
      if (rest.length > 0) yield* walk(`${path}/`, rest);
      else if (!(await isFolder(path, entry))) yield path;
    }
  }
}

function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder === '' ? '.' : folder, { withFileTypes: true }).catch(() => []);
}

async function isFolder(path: string, entry: Dirent): Promise<boolean> {
  return entry.isSymbolicLink()
    ? (await stat(path).catch(() => undefined))?.isDirectory() === true
    : entry.isDirectory();
}

function matcherOf(segment: string): (name: string) => boolean {
  const source = segment.replaceAll(/\*+|\?|\[([!^]?)(\]?[^\]]*)\]|[\s\S]/gu, (token, not?: string, set?: string) => {
    if (token.startsWith('*')) return '[^]*';
    if (token === '?') return '[^]';
    if (set !== undefined) return `[${not === '' ? '' : '^'}${set.replaceAll(/[\\\]^]/g, '\\$&')}]`;
    return token.replace(/[\\^$.|?*+()[\]{}/]/, '\\$&');
  });
  const regex = compiled(`^${source}$`);
  return (name) => (segment.startsWith('.') || !name.startsWith('.')) && regex !== undefined && regex.test(name);
}

/** Undefined for a set without a meaning, such as `[z-a]`, which matches nothing. */
function compiled(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u');
  } catch {
    return undefined;
  }
}
