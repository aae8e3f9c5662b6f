// Bundles the command into dist/command: a run loads some dozens of files in place of several hundred modules, which took longer
// than most questions. What a subcommand alone needs is in files of its own, loaded when it is called. The library's entry
// points stay modules, one file each.
//
// node cli/command-build.mjs [FOLDER]
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = resolve(process.argv[2] ?? join(root, 'dist', 'command'));
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Dependencies of many modules, and one that `define` is for. The others are a file or two each, and stay packages. */
const BUNDLED = ['rxjs', 'hyparquet', 'zstddec'];
const external = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !BUNDLED.includes(name));

/** Commands that run from the library's own modules, as experiments of users import these: cli/quadrille.mjs starts them there. */
const unbundled = {
  name: 'unbundled',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(bench|tune)\.ts$/ }, ({ path }) => ({
      path: path.replace('./', '../cli/').replace(/ts$/, 'js'),
      external: true,
    }));
  },
};

const options = {
  absWorkingDir: root,
  outdir,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external,
  // For Node, RxJS points to its CommonJS modules, which cannot be tree-shaken.
  alias: { rxjs: join(root, 'node_modules', 'rxjs', 'dist', 'esm', 'index.js') },
  // zstddec reads its own bytes with fetch if it exists. Loading fetch takes Node longer than unpacking a file.
  define: { fetch: 'undefined' },
  metafile: true,
  logLevel: 'warning',
};

rmSync(outdir, { recursive: true, force: true });
const command = await build({
  ...options,
  entryPoints: { main: 'cli/main.ts' },
  plugins: [unbundled],
  splitting: true,
  // All in one folder, because a thread is started from a file next to the one that starts it.
  chunkNames: '[name]-[hash]',
});
// Every thread loads a single file.
const workers = await build({
  ...options,
  entryPoints: [
    'backends/workers/worker.ts',
    'formats/result-sets/parse-worker.ts',
    'formats/result-sets/side-worker.ts',
    'formats/tiff/decode-worker.ts',
  ],
  entryNames: '[name]',
});
writeFileSync(join(outdir, 'LICENSES.txt'), licencesOf([command, workers]));

/** The licences of the packages that are in the bundles. */
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
