import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** A row of the table in README.md: a page's program, and the modules that it loads at run time. */
interface Row {
  readonly name: string;
  readonly program: string;
  readonly loads: readonly string[];
}

const small = `export { fn, map, open, sort } from './page.ts';`;
const spilling = 'backends/spilling/index.ts';
const rows: readonly Row[] = [
  { name: 'all of `quadrille/primitives`', program: `export * from './primitives/index.ts';`, loads: [] },
  {
    name: 'all of `quadrille/primitives` and `quadrille/backends/webgpu`',
    program: `export * from './primitives/index.ts'; export * from './backends/webgpu/index.ts';`,
    loads: [],
  },
  { name: '`fn`, `map`, `sort` and `open`, on WebGPU', program: small, loads: ['backends/webgpu/index.ts', spilling] },
  { name: '`fn`, `map`, `sort` and `open`, on workers', program: small, loads: ['backends/workers/page.ts', spilling] },
];

/** The total size of all scripts that a page loads, in two forms: minified, and also gzipped one by one. */
async function sizeOf({ program, loads }: Row): Promise<readonly [minified: number, gzipped: number]> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: root, loader: 'ts' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    write: false,
    outdir: root,
    absWorkingDir: root,
    metafile: true,
    logLevel: 'silent',
  });
  const chunks = Object.entries(metafile.outputs);
  const chunkOf = (entry: string): string => chunks.find(([, { entryPoint }]) => entryPoint === entry)![0];
  const loaded = new Set<string>();
  const load = (chunk: string): void => {
    if (loaded.has(chunk)) return;
    loaded.add(chunk);
    for (const { path, kind } of metafile.outputs[chunk]!.imports) if (kind === 'import-statement') load(path);
  };
  for (const entry of ['<stdin>', ...loads]) load(chunkOf(entry));
  const files = outputFiles.filter(({ path }) => loaded.has(posix.relative(root, path)));
  expect(files).toHaveLength(loaded.size);
  const sum = (bytes: readonly number[]): number => bytes.reduce((total, each) => total + each, 0);
  return [
    sum(files.map(({ contents }) => contents.length)),
    sum(files.map(({ contents }) => gzipSync(contents, { level: 9 }).length)),
  ];
}

/** The sizes in kB that a row of README.md states. */
function stated(name: string): readonly number[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const line = readme.split('\n').find((line) => line.startsWith('|') && line.split('|')[1]!.trim() === name);
  expect(line, `the row of ${name} in README.md`).toBeDefined();
  return [...line!.matchAll(/\| *(\d+) kB/g)].map(([, size]) => Number(size));
}

test.each(rows.map((row) => [row.name, row] as const))('README.md states the size of %s', async (name, row) => {
  const sizes = (await sizeOf(row)).map((bytes) => bytes / 1000);
  const said = stated(name);
  const rounded = sizes.map((size) => `${Math.round(size)} kB`).join(', ');
  expect(said).toHaveLength(2);
  for (const [k, size] of sizes.entries()) {
    const off = Math.abs(said[k]! / size - 1);
    expect(off, `${name} takes ${rounded}: write that into README.md`).toBeLessThan(0.02);
  }
});
