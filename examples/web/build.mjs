// Builds the files of the page. A web host needs only these files.
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;

/** Writes the page's files into a folder. `links` is HTML that is inserted after the first paragraph of the page. */
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
