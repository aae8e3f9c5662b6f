// Makes the page's files, which are all that a host needs.
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;

/** Writes the page into a folder. `links` is HTML that is inserted after its first paragraph. */
export async function buildPage(folder, links = '') {
  await mkdir(folder, { recursive: true });
  await build({
    entryPoints: [join(here, 'page.ts')],
    outdir: folder,
    bundle: true,
    minify: true,
    sourcemap: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  });
  const html = await readFile(join(here, 'index.html'), 'utf8');
  await writeFile(join(folder, 'index.html'), html.replace('<!-- links -->', links));
  for (const file of ['style.css', 'isolate.js']) await cp(join(here, file), join(folder, file));
}
