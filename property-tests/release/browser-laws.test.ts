import fc from 'fast-check';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { bundleSource } from '../browser/bundle-source.ts';
import { launchChromium } from '../browser/chromium.ts';
import { digestsOf, type Trial } from '../browser/laws-program.ts';
import type { PageBackend } from '../browser/page-program.ts';
import { type Site, serve } from '../browser/site.ts';
import { allLaws } from '../index.ts';

const all = allLaws.map(({ name }) => name);

/** Laws of primitives that need few kernels, because a shader compiler is slow without a GPU. */
const few = [
  'map applies the functor to every row, of packed columns too',
  'reductions of exact monoids equal a plain loop',
  'reductions of inexact monoids follow the canonical tree',
  'scans of exact monoids equal a plain loop',
  'segmented scans of exact monoids equal scans of the segments',
  'copyIf keeps the flagged rows, removeIf the others',
  'scatter puts every row at its place, and zeros elsewhere',
  'reduceByKey of exact monoids equals a plain loop over every run',
  'sortByKey is a stable permutation in the order of the keys',
  'histogram counts by bin, and ignores values not below the number of bins',
];

let browser: Browser;
let site: Site;
let page: Page;
beforeAll(async () => {
  site = await serve({ '/program.js': await bundleSource('page-program.ts') });
  browser = await launchChromium();
  page = await browser.newPage();
  await page.goto(site.page({ script: '/program.js' }));
  await page.waitForFunction(() => 'run' in globalThis);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await site.close();
});

type Run = (name: 'digests', args: readonly [PageBackend, Trial]) => Promise<Record<string, string>>;

/** A seed that differs between runs of the tests, but is the same in Node and in Chromium. */
const seed = fc.sample(fc.integer(), 1)[0]!;

describe('laws in Chromium', () => {
  test.each([
    ['workers', all, 4],
    ['reference', all, 1],
    ['webgpu', few, 2],
  ] as const)('hold on %s, with the same bytes as in Node', async (backend, laws, numRuns) => {
    const trial = { laws, seed, numRuns };
    const inChromium = page.evaluate(
      ([backend, trial]) => (globalThis as unknown as { run: Run }).run('digests', [backend, trial]),
      [backend, trial] as const,
    );
    const inNode = await digestsOf(createReferenceBackend(), createReferenceBackend(), trial);
    expect(await inChromium, `seed ${seed}`).toEqual(inNode);
    expect(new Set(Object.values(inNode)).size).toBeGreaterThan(laws.length / 2);
  });
});
