import { join } from 'node:path';
import { build } from 'esbuild';

/** Bundles a program in `property-tests/browser` for a page. */
export async function bundleSource(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, name)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    // Users minify too, which changes the names of functions and classes.
    minify: true,
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
