// Builds the site, which consists of the API reference, the guides, and the live page. `npm run docs` writes the site
// to docs/site; `npm run docs -- --out FOLDER` chooses another folder. Any static host can serve the site. The build
// fails if typedoc warns or a link is dead.
import { spawnSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPage } from '../../examples/web/build.mjs';
import { deadLinks } from './links.mjs';

const root = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'docs', 'site') } } });
const site = resolve(values.out);
const LINKS = ' <a href="../guide/in-a-browser.html">How it works</a> · <a href="../index.html">Quadrille</a>';

const typedoc = ['node_modules/typedoc/bin/typedoc', '--out', site];
const { status } = spawnSync(process.execPath, typedoc, { cwd: root, stdio: 'inherit' });
if (status !== 0) process.exit(1);
await mendSearch(join(site, 'assets', 'main.js'));
await buildPage(join(site, 'live'), LINKS);
// Removes typedoc's copy of the live page's source. The plugin has replaced all links to the copy by links to the live
// page.
await rm(join(site, 'media', 'index.html'), { force: true });

const { pages, dead } = await deadLinks(site);
for (const { page, link } of dead) console.error(`${page}: ${link} leads nowhere`);
if (dead.length > 0) process.exit(1);
console.log(`${pages} pages in ${site}; every link leads somewhere.`);

/**
 * Fixes a bug in lunr 2.3.9, the library for the site's search. Lunr stores words in a graph and identifies each node
 * by a text: for each edge of the node, a letter and the number of the next node, without separators. If words contain
 * digits, two nodes can get the same text. A search for "sort" or "map" then finds words that are not in the index, and
 * fails.
 */
async function mendSearch(file) {
  const text = await readFile(file, 'utf8');
  const joined = 'e=e+s+o.id}return e}';
  if (text.split(joined).length !== 2)
    throw new Error(`${file} is not the search that is mended here: look at it anew.`);
  await writeFile(file, text.replace(joined, 'e=e+s+o.id+","}return e}'));
}
