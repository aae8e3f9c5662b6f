import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The exports and the version of an optional package. */
export interface OptionalPackage<Library> {
  readonly library: Library;
  readonly version: string;
}

/**
 * Loads an optional package, or the package's file `entry`, from the user's project or else from this library's
 * packages. Returns undefined if the package is not installed.
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

/** The folder of a package. The search ignores the package's `exports`, which may hide package.json. */
function folderOf(name: string, from: string): string | undefined {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    try {
      readFileSync(join(folder, name, 'package.json'));
      return dirname(join(folder, name, 'package.json'));
    } catch {
      // The package is not in this folder, so the next folder is tried.
    }
  }
  return undefined;
}
