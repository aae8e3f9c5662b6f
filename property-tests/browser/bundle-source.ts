import { join } from 'node:path';
import { build } from 'esbuild';

/** Bundles a program in `property-tests/browser`, so that a page can load it. */
export async function bundleSource(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, name)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    // Names of functions and classes are shortened, as in users' bundles.
    minify: true,
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
