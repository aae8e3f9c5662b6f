// Bundles the program of the web workers into one file without imports. The output is a script (if FILE.js is given),
// or the module page-worker-text.ts, from which the package starts workers. A test fails if page-worker-text.ts is out
// of date.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function program(minify) {
  const { outputFiles } = await build({
    entryPoints: [here('page-worker.ts')],
    bundle: true,
    minify,
    write: false,
    format: 'iife',
    target: 'es2022',
    logLevel: 'warning',
  });
  return outputFiles[0].text;
}

function moduleOf(text) {
  const quoted = text.trim().replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  return `// Made of page-worker.ts by page-worker-build.mjs (npm run page-worker). Do not edit.

/** The program of a page's workers. */
// biome-ignore format: one line, as it was made.
// biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the program's.
export const pageWorkerText = '${quoted}';
`;
}

const [file = here('page-worker-text.ts')] = process.argv.slice(2);
await writeFile(file, file.endsWith('.ts') ? moduleOf(await program(true)) : await program(false));
