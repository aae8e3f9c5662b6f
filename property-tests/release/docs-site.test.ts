import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as primitives from '../../primitives/index.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

let site: string;
let said: string;
beforeAll(async () => {
  site = await mkdtemp(join(tmpdir(), 'quadrille-docs-'));
  const { stdout, stderr } = await run(process.execPath, ['docs/site-sources/build.mjs', '--out', site], { cwd: root });
  said = stdout + stderr;
}, 300_000);
afterAll(() => rm(site, { recursive: true }));

const read = (page: string): Promise<string> => readFile(join(site, page), 'utf8');

/** The main content of a page of the site, without the sidebar. */
function contentOf(html: string): string {
  const start = html.indexOf('<div class="col-content">');
  return html.slice(start, html.indexOf('<div class="col-sidebar">'));
}

describe('the site that npm run docs builds', () => {
  test('is built without a warning, and has no dead links', () => {
    expect(said).toMatch(/\d{3,} pages in .*; every link leads somewhere/);
    expect(said).not.toMatch(/warning/i);
  });

  test('shows every primitive with its example', async () => {
    const names = Object.entries(primitives).flatMap(([name, value]) =>
      typeof value === 'function' && !/^class\b/.test(`${value}`) ? [name] : [],
    );
    const pages = (await readdir(join(site, 'quadrille'))).filter((page) => page.endsWith('.html'));
    const texts = await Promise.all(pages.map(async (page) => contentOf(await read(join('quadrille', page)))));
    const withExample = texts.flatMap((text) => {
      const [, name] = /<h1[^>]*>(?:Function|Variable) (?:<wbr\/?>|\s)*((?:\w|<wbr\/?>)+)/.exec(text) ?? [];
      return name !== undefined && />Example/.test(text) ? [name.replaceAll(/<wbr\/?>/g, '')] : [];
    });
    expect(names.length).toBeGreaterThan(80);
    expect(names.filter((name) => !withExample.includes(name))).toEqual([]);
  });

  test('has every page of the guide, with its title, in the navigation and in the search', async () => {
    for (const file of await readdir(join(root, 'docs', 'guide'))) {
      const [title] = (await readFile(join(root, 'docs', 'guide', file), 'utf8')).replace('# ', '').split('\n');
      const page = await read(join('guide', file.replace('.md', '.html')));
      expect(page).toContain(`<title>${title} | Quadrille</title>`);
    }
    expect((await read('assets/search.js')).length).toBeGreaterThan(100_000);
  });

  test('has the live page, linked from the front page and the guide', async () => {
    expect(await readdir(join(site, 'live'))).toEqual(
      expect.arrayContaining(['index.html', 'page.js', 'style.css', 'isolate.js']),
    );
    expect(await read('index.html')).toContain('href="live/index.html"');
    expect(await read('guide/in-a-browser.html')).toContain('href="../live/index.html"');
    expect(await read('live/index.html')).toContain('href="../guide/in-a-browser.html"');
  });

  test('has a link check that finds dead links, anchors and images', async () => {
    const links = '../../docs/site-sources/links.mjs';
    const { deadLinks } = (await import(links)) as {
      deadLinks(site: string): Promise<{ pages: number; dead: readonly { page: string; link: string }[] }>;
    };
    const broken = await mkdtemp(join(tmpdir(), 'quadrille-links-'));
    await writeFile(join(broken, 'other.html'), '<h2 id="there">There</h2>');
    const all = [
      'other.html',
      'other.html#there',
      '#here',
      'https://example.org/',
      'gone.html',
      'other.html#gone',
      '#gone',
    ];
    const anchors = all.map((link) => `<a href="${link}">a link</a>`).join('');
    await writeFile(join(broken, 'index.html'), `<h1 id="here">Here</h1>${anchors}<img src="gone.png">`);
    const { pages, dead } = await deadLinks(broken);
    await rm(broken, { recursive: true });
    expect(pages).toBe(2);
    expect(dead.map(({ page, link }) => [page, link])).toEqual([
      ['index.html', 'gone.html'],
      ['index.html', 'other.html#gone'],
      ['index.html', '#gone'],
      ['index.html', 'gone.png'],
    ]);
  });
});
