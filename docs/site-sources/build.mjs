// Builds the site: the reference with the guides as pages of it, and the live page. `npm run docs` writes it to docs/site, or with
// `-- --out FOLDER` elsewhere; any static host can serve it. Anything that typedoc warns of, and any link that leads nowhere, ends it with an error.
import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
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
await buildPage(join(site, 'live'), LINKS);
// What links to the source of the live page has been led to the page itself.
await rm(join(site, 'media', 'index.html'), { force: true });

const { pages, dead } = await deadLinks(site);
for (const { page, link } of dead) console.error(`${page}: ${link} leads nowhere`);
if (dead.length > 0) process.exit(1);
console.log(`${pages} pages in ${site}; every link leads somewhere.`);
