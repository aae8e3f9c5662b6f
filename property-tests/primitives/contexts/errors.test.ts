import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as errors from '../../../primitives/checks/errors.ts';

const FOLDERS = ['primitives', 'backends', 'graph', 'algorithms', 'formats', 'cli', 'bench'];
const declaration = /^export class (\w+) extends (\w*Error)\b/gm;

/** All error classes of the project, each with the file that exports it. */
async function errorClasses(): Promise<{ readonly name: string; readonly file: string }[]> {
  const files = await Promise.all(
    FOLDERS.map(async (folder) => {
      const entries = await readdir(folder, { recursive: true });
      return entries.filter((entry) => entry.endsWith('.ts')).map((entry) => join(folder, entry));
    }),
  );
  const found = files.flat().map(async (file) => {
    const text = await readFile(file, 'utf8');
    return [...text.matchAll(declaration)].map(([, name]) => ({ name: name!, file }));
  });
  return (await Promise.all(found)).flat();
}

describe('names of errors', () => {
  const folder = mkdtemp(join(tmpdir(), 'quadrille-errors-'));
  let classes: { readonly name: string; readonly file: string }[] = [];
  beforeAll(async () => {
    classes = await errorClasses();
  });
  afterAll(async () => rm(await folder, { recursive: true }));

  test('the list is complete', () => {
    const names = classes.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(errors).filter((name) => name.endsWith('Error'))));
    expect(names).toContain('Interrupted');
    expect(new Set(names).size).toBe(names.length);
  });

  test('are the literals of the source, even when minified', async () => {
    const outfile = join(await folder, 'errors.mjs');
    // The bundle renames classes internally, but each export must keep the name of its class in the source.
    const contents = classes.map(({ name, file }) => `export { ${name} } from './${file}';`).join('\n');
    await build({
      stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'node',
      packages: 'external',
    });
    const minified: Record<string, new (...args: string[]) => Error> = await import(pathToFileURL(outfile).href);
    expect(minified.ArgumentError!.name).not.toBe('ArgumentError');
    for (const { name } of classes) {
      const error = new minified[name]!('some/code', 'A sentence.');
      expect(error.name).toBe(name);
      expect(String(error).startsWith(`${name}: `)).toBe(true);
      expect(error.stack).toContain(`${name}: `);
    }
  });
});
