// Bundles the command into dist/command, so that it starts faster: the bundled command loads some dozens of files
// instead of several hundred modules. Code that only one subcommand needs is in separate files, which are loaded when
// the subcommand is called. The library's entry points are not bundled.
//
// node cli/command-build.mjs [FOLDER]
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = resolve(process.argv[2] ?? join(root, 'dist', 'command'));
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/**
 * Dependencies that are bundled: `rxjs` and `hyparquet` consist of many modules, and `zstddec` must not see
 * `fetch`. The other dependencies consist of one or two files each, and are loaded as packages.
 */
const BUNDLED = ['rxjs', 'hyparquet', 'zstddec'];
const external = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !BUNDLED.includes(name));

/**
 * Excludes `bench`, `tune` and `worker` from the bundle. Users' experiments and modules import the library, and these
 * commands must use the same modules. Therefore cli/quadrille.mjs starts them from dist/cli, not from the bundle.
 */
const unbundled = {
  name: 'unbundled',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(bench|tune|worker|worker-parts)\.ts$/ }, ({ path }) => ({
      path: path.replace('./', '../cli/').replace(/ts$/, 'js'),
      external: true,
    }));
  },
};

/**
 * Takes `fetch` from zstddec, which would load its own bytes by it: on Node, loading `fetch` takes longer than decompressing
 * a file.
 */
const withoutFetch = {
  name: 'without-fetch',
  setup({ onLoad }) {
    onLoad({ filter: /node_modules[\\/]zstddec[\\/].*\.mjs$/ }, async ({ path }) => ({
      contents: `const fetch = undefined;\n${await readFile(path, 'utf8')}`,
      loader: 'js',
    }));
  },
};

/** Excludes the readers of formats that tiles cannot have (`needsFile` of their records), which are imported when they are opened. */
const unread = {
  name: 'unread',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/[\w-]+-layer\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

const options = {
  absWorkingDir: root,
  outdir,
  bundle: true,
  format: 'esm',
  // Names are kept for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  platform: 'node',
  target: 'node20',
  external,
  // On Node, `rxjs` resolves to CommonJS modules, from which unused code cannot be removed. So use its ES modules.
  alias: { rxjs: join(root, 'node_modules', 'rxjs', 'dist', 'esm', 'index.js') },
  // Whoever runs the command does not develop it, so it tells nothing of forgotten columns.
  define: { 'process.env.NODE_ENV': '"production"' },
  metafile: true,
  logLevel: 'warning',
};

rmSync(outdir, { recursive: true, force: true });
const command = await build({
  ...options,
  entryPoints: { main: 'cli/main.ts' },
  plugins: [unbundled, withoutFetch],
  splitting: true,
  // All chunks are in one folder, because a chunk that starts a worker looks for the worker's file in its own folder.
  chunkNames: '[name]-[hash]',
});
// The code of each worker is a single file, so that threads start fast.
const workers = await build({
  ...options,
  entryPoints: ['backends/workers/worker.ts', 'formats/rasters/tiff/decode-worker.ts'],
  entryNames: '[name]',
  plugins: [withoutFetch],
});
// Those that read tiles of polygons share nearly all of theirs.
const readers = await build({
  ...options,
  plugins: [unread, withoutFetch],
  entryPoints: ['formats/result-sets/parse-worker.ts', 'formats/result-sets/side-worker.ts'],
  entryNames: '[name]',
  splitting: true,
  chunkNames: '[name]-[hash]',
});
writeFileSync(join(outdir, 'LICENSES.txt'), licencesOf([command, workers, readers]));

/** The licence texts of the packages whose code is in the bundles. */
function licencesOf(results) {
  const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
  const texts = [...folders].sort().map((path) => {
    const folder = join(root, path);
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = ['LICENSE', 'LICENSE.txt', 'LICENSE.md'].map((file) => join(folder, file)).find(existsSync);
    return `${name} ${version} (${license})\n\n${readFileSync(file, 'utf8').trim()}\n`;
  });
  return `The files in this folder hold code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}
