import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { COMPARED_CONTROLS, COMPARED_FRAMES } from '../../examples/web/compare.ts';
import { play, type Told } from '../../examples/web/frame.ts';
import { Context } from '../../primitives/index.ts';
import { launchChromium } from '../browser/chromium.ts';

const TYPES: Record<string, string> = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };

let folder: string;
let browser: Browser;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-web-page-'));
  // The path is in a variable, because an import of a literal path would need types, which this module does not have.
  const build = '../../examples/web/build.mjs';
  await ((await import(build)) as { buildPage(folder: string): Promise<void> }).buildPage(folder);
  browser = await launchChromium();
}, 60_000);
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

/** Serves the page's files without the headers for cross-origin isolation, like a static host. */
async function host(): Promise<Server> {
  const server = createServer(async ({ url }, response) => {
    const { pathname } = new URL(url!, 'http://localhost');
    const name = pathname === '/' ? 'index.html' : pathname.slice(1);
    const content = await readFile(join(folder, name)).catch(() => undefined);
    response.writeHead(content === undefined ? 404 : 200, { 'Content-Type': TYPES[extname(name)] ?? 'text/plain' });
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

async function openPage(options: Parameters<Browser['newContext']>[0] = {}): Promise<{ page: Page; errors: string[] }> {
  const { port } = (await host()).address() as AddressInfo;
  const context = await browser.newContext(options);
  // A software GPU and other tests may keep every core busy for longer than Playwright's 30 seconds.
  context.setDefaultTimeout(90_000);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  onTestFailed(async () => console.error('The page when the test failed:', await stateOf(page), errors));
  await page.goto(`http://localhost:${port}/`);
  return { page, errors };
}

/** What the page shows and has, to find out why a test failed. */
function stateOf(page: Page): Promise<unknown> {
  return page.evaluate(() => ({
    message: document.getElementById('message')!.textContent,
    backend: document.documentElement.dataset.backend,
    backends: [...document.querySelectorAll('#backends small')].map(({ textContent }) => textContent),
    isIsolated: crossOriginIsolated,
    hasTriedToIsolate: sessionStorage.getItem('isolating'),
    readyState: document.readyState,
    visibility: document.visibilityState,
    loadedBefore: performance.now(),
  }));
}

/** Waits until the page draws frames that it computed on the given backend. */
async function framesOf(page: Page, backend: string): Promise<void> {
  await page.locator(`html[data-backend=${backend}]`).waitFor({ state: 'attached' });
  await page
    .locator('#rate')
    .getByText(/^[\d.]+$/)
    .waitFor();
}

/** The values that the page shows for the last compared frame, computed in Node. */
async function lastInNode(): Promise<Told> {
  await using context = new Context(createReferenceBackend());
  const player = play(context);
  let last: Told | undefined;
  for (let frame = 0; frame < COMPARED_FRAMES; frame++) {
    const { told, pixels } = player.next(COMPARED_CONTROLS);
    [last] = await Promise.all([told, pixels]);
  }
  return last!;
}

describe('the page of moving points, in Chromium', () => {
  test('runs on every backend, even from a host without headers, with the same bytes as in Node', async () => {
    const { page, errors } = await openPage();
    // The service worker of the page isolates the page and reloads it. After the reload, workers are available.
    await framesOf(page, 'workers');
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
    await page.locator('label:has(input[value=webgpu])').click();
    await framesOf(page, 'webgpu');
    await page.locator('label:has(input[value=workers])').click();
    await framesOf(page, 'workers');
    await page.locator('#compare').click();
    await page.locator('#comparison caption').getByText('After five frames: the same bytes.').waitFor();
    const rows = await page.locator('#comparison tbody tr').allInnerTexts();
    const { components, checksum } = await lastInNode();
    const told = [`${components}`, checksum.toString(16).padStart(8, '0')];
    expect(rows.map((row) => row.split('\t').filter((_, i) => i !== 1))).toEqual([
      ['webgpu', ...told],
      ['workers', ...told],
      ['reference', ...told],
    ]);
    expect(errors).toEqual([]);
  });

  test('runs without workers when service workers are unavailable, reports that, and fits a phone', async () => {
    const { page, errors } = await openPage({ serviceWorkers: 'block', viewport: { width: 390, height: 844 } });
    await page.locator('html[data-backend=reference]').waitFor({ state: 'attached' });
    await page
      .locator('#components')
      .getByText(/^[\d,]+$/)
      .waitFor();
    expect(await page.locator('#message').textContent()).toMatch(/WebGPU was not taken/);
    expect(await page.locator('input[value=workers]').isDisabled()).toBe(true);
    expect(await page.locator('label:has(input[value=workers])').getAttribute('title')).toMatch(/Cross-Origin-Opener/);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(errors).toEqual([]);
  });

  test('starts paused when reduced motion is preferred, and runs on request', async () => {
    const { page } = await openPage({ reducedMotion: 'reduce' });
    await page
      .locator('#components')
      .getByText(/^[\d,]+$/)
      .waitFor();
    const first = await page.locator('#checksum').textContent();
    await page.waitForTimeout(500);
    expect(await page.locator('#checksum').textContent()).toBe(first);
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(() => page.locator('#checksum').textContent()).not.toBe(first);
  });
});
