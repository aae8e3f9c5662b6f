// Finds dead links in a built site.
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parseHTML } from 'linkedom';

/**
 * Finds the dead links of the site in a folder: links to a file of the site that is missing, or to an anchor that is
 * missing in its page. Also returns the number of pages.
 */
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

/** The links of a page, and the page's anchors (`id` and `name` attributes). */
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
