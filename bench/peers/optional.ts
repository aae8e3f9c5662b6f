import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** An optional package: its exports and its version. */
export interface OptionalPackage<Library> {
  readonly library: Library;
  readonly version: string;
}

/**
 * Loads a package, or a file of it, from the user's project or from this library's; undefined if it is not installed.
 */
export async function optionalPackage<Library>(
  name: string,
  entry?: string,
): Promise<OptionalPackage<Library> | undefined> {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    const folder = folderOf(name, from);
    if (folder === undefined) continue;
    const {
      version,
      main = 'index.js',
      module = main,
    } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { library: (await import(pathToFileURL(join(folder, entry ?? module)).href)) as Library, version };
  }
  return undefined;
}

/** The folder of a package, regardless of its exports. */
function folderOf(name: string, from: string): string | undefined {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    try {
      readFileSync(join(folder, name, 'package.json'));
      return dirname(join(folder, name, 'package.json'));
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}
