// Makes the program of a page's workers one text, which needs no other file: with a path, a file of its own; without, the
// module page-worker-text.ts, out of which the package starts it. A test tells when that is out of date.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** The program, without comments and names. */
export async function pageWorkerProgram() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page-worker.ts', import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    logLevel: 'warning',
  });
  return outputFiles[0].text.trim();
}

/** The module that holds it. */
export async function pageWorkerModule() {
  const text = (await pageWorkerProgram()).replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  return `// Made of page-worker.ts by page-worker-build.mjs (npm run page-worker). Do not edit.

/** The program of a page's workers. */
// biome-ignore format: one line, as it was made.
// biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the program's.
export const pageWorkerText = '${text}';
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [path] = process.argv.slice(2);
  if (path === undefined) await writeFile(new URL('page-worker-text.ts', import.meta.url), await pageWorkerModule());
  else await writeFile(path, `${await pageWorkerProgram()}\n`);
}
