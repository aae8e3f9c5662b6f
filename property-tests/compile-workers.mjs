import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { compiledName } from '../start-unbuilt.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The files with which the package's threads start, and the processes of tests. */
const WORKERS = [
  'backends/workers/worker.ts',
  'formats/result-sets/side-worker.ts',
  'formats/result-sets/parse-worker.ts',
  'formats/rasters/tiff/decode-worker.ts',
  'queues/serving-thread.ts',
  'property-tests/queues/queue-parent.ts',
  'property-tests/queues/queue-worker.ts',
];

/**
 * Compiles the worker threads once for all tests of a run, and chooses the folder into which built-package.ts builds
 * the package. Both folders are inside `node_modules`, so that imports of packages resolve.
 */
export default async function compileWorkers() {
  const caches = join(root, 'node_modules', '.cache');
  mkdirSync(caches, { recursive: true });
  const outdir = mkdtempSync(join(caches, 'quadrille-workers-'));
  const paths = WORKERS.map((name) => join(root, name));
  const settings = { outdir, bundle: true, platform: 'node', format: 'esm', sourcemap: true, target: 'node20' };
  await Promise.all([
    build({
      ...settings,
      entryPoints: paths.map((path) => ({
        in: path,
        out: compiledName(pathToFileURL(path)).replace(/\.js$/, ''),
      })),
      packages: 'external',
    }),
    // A compiled process looks for the files of its threads beside it, under their own names. With its packages, this one
    // starts in half the time.
    build({
      ...settings,
      entryPoints: [{ in: join(root, 'queues/serving-thread.ts'), out: 'serving-thread' }],
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      define: { __dirname: '""', __filename: '""' },
      sourcemap: false,
    }),
  ]);
  process.env.QUADRILLE_COMPILED_WORKERS = outdir;
  const built = `${outdir}-built`;
  process.env.QUADRILLE_BUILT = built;
  return () => {
    for (const folder of [outdir, built]) rmSync(folder, { recursive: true, force: true });
  };
}
