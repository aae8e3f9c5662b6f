import { join } from 'node:path';
import { build } from 'esbuild';

/** Bundles a program of `property-tests/browser` for pages. */
export async function bundleSource(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, name)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    // Minified as users do: names of functions and classes are gone then.
    minify: true,
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
