// Finds dead links in a built site.
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parseHTML } from 'linkedom';

/** Every link within the folder whose target is missing: a file, or a place in a file. */
export async function deadLinks(site) {
  const files = new Set((await readdir(site, { recursive: true })).map((name) => name.replaceAll('\\', '/')));
  const pages = new Map();
  for (const name of files) {
    if (name.endsWith('.html')) pages.set(name, pageOf(await readFile(join(site, name), 'utf8')));
  }
  const dead = [...pages].flatMap(([page, { links }]) => {
    const missing = [...links].filter((link) => !leadsSomewhere(page, link, files, pages));
    return missing.map((link) => ({ page, link }));
  });
  return { pages: pages.size, dead };
}

/** The links of a page, and the places in it that links can target. */
function pageOf(html) {
  const { document } = parseHTML(html);
  const all = (attribute) =>
    [...document.querySelectorAll(`[${attribute}]`)].map((each) => each.getAttribute(attribute));
  return { links: new Set([...all('href'), ...all('src')]), ids: new Set([...all('id'), ...all('name')]) };
}

function leadsSomewhere(page, link, files, pages) {
  if (/^(https?|data|mailto):/.test(link)) return true;
  const [path, place] = link.split('#').map(decodeURIComponent);
  const target =
    path === '' ? page : relative('.', join(dirname(page), path.replace(/\?.*$/, ''))).replaceAll('\\', '/');
  if (!files.has(target)) return false;
  return place === undefined || place === '' || (pages.get(target)?.ids.has(place) ?? true);
}
