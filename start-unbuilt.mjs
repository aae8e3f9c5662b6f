import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Runs the TypeScript source of a worker thread if the package is not built. The tests start thousands of threads,
 * so property-tests/compile-workers.mjs compiles the sources once beforehand. Loading a source that is not compiled
 * takes eight times as long.
 */
export async function startUnbuilt(source) {
  const compiled = process.env.QUADRILLE_COMPILED_WORKERS;
  if (compiled !== undefined) {
    await import(pathToFileURL(join(compiled, compiledName(source))).href);
    return;
  }
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
}

/**
 * Name of the JavaScript file into which a worker's source file is compiled: the path of the source, with hyphens in
 * place of slashes.
 */
export function compiledName(source) {
  const root = fileURLToPath(new URL('.', import.meta.url));
  return fileURLToPath(source).slice(root.length).replace(/[\\/]/g, '-').replace(/\.ts$/, '.js');
}
