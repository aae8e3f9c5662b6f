import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Starts a worker thread out of its TypeScript source, where the package runs unbuilt. The tests, which start thousands of
 * threads, compile them once beforehand (property-tests/compile-workers.mjs): the loader takes eight times as long.
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

/** A name for what a worker is compiled to: that of its file, with its folders. */
export function compiledName(source) {
  const root = fileURLToPath(new URL('.', import.meta.url));
  return fileURLToPath(source).slice(root.length).replace(/[\\/]/g, '-').replace(/\.ts$/, '.js');
}
