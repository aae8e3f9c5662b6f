import type { Browser, Page } from 'playwright-core';
import { createServer } from 'vite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OpenOptions } from '../../index.ts';
import { type Bundle, bundlers } from '../browser/bundlers.ts';
import { launchChromium } from '../browser/chromium.ts';
import { createProject, type Project } from '../browser/project.ts';
import { ISOLATION, serve } from '../browser/site.ts';
import { entries } from '../support/entry-sources.ts';

/** The entry points for pages, except `./property-tests`, which is only for tests. */
const forPages = entries().filter(({ name, pageSource }) => pageSource !== undefined && name !== './property-tests');
/** Entry points that the app imports dynamically. All other entry points are imported statically. */
const loaded = forPages.filter(({ name }) => !['.', './primitives'].includes(name));
const forNode = entries().filter(({ pageSource }) => pageSource === undefined);

const small = `import { open } from 'quadrille';
import { fn, map, plus, reduce, sort, u32 } from 'quadrille/primitives';
globalThis.run = async (options) => {
  const context = await open(options);
  const half = fn('half', { n: u32 }, u32, ({ n }) => n.shr(1));
  const rows = map(half, { n: context.column(Uint32Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 10_007)) });
  const [sum] = await context.read(reduce(rows, plus(u32)));
  const sorted = await context.read(sort(rows));
  const ran = context.backend.name;
  await context.close();
  return { ran, sum, some: [sorted[0], sorted[777], sorted[99_999]] };
};
globalThis.place = () => {
  try {
    return fn('wrong', { x: u32 }, u32, ({ x }) => x.sin()).module;
  } catch (error) {
    return error.place;
  }
};
`;
const app = `${small}globalThis.entries = {
${loaded.map(({ name }) => `  '${name}': () => import('${name.replace('.', 'quadrille')}'),`).join('\n')}
};
`;
/** The number of the line in the app that contains the mistake. */
const WRONG = app.split('\n').findIndex((line) => line.includes('x.sin()')) + 1;

interface Outcome {
  readonly ran: string;
  readonly sum: number;
  readonly some: readonly number[];
}

interface App {
  run(options: OpenOptions): Promise<Outcome>;
  place(): unknown;
  readonly entries: Readonly<Record<string, () => Promise<object>>>;
}

let project: Project;
let browser: Browser;
let expected: Omit<Outcome, 'ran'>;
beforeAll(async () => {
  project = await createProject();
  await project.write('app.js', app);
  await project.write('index.html', '<!doctype html><script type="module" src="/app.js"></script>');
  browser = await launchChromium();
  const { fn, map, open, plus, reduce, sort, u32 } = await import('../../index.ts');
  await using context = await open({ backend: 'reference' });
  const half = fn('half', { n: u32 }, u32, ({ n }) => n.shr(1));
  const rows = map(half, {
    n: context.column(Uint32Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 10_007)),
  });
  const [sum] = await context.read(reduce(rows, plus(u32)));
  const sorted = await context.read(sort(rows));
  expected = { sum: sum!, some: [sorted[0]!, sorted[777]!, sorted[99_999]!] };
}, 120_000);
afterAll(async () => {
  await browser.close();
  await project.remove();
});

/** Opens a page whose script assigns the app to a global variable. */
async function openApp(address: string): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await page.goto(address);
  await page.waitForFunction(() => 'run' in globalThis);
  return page;
}

async function openBundle({ scripts, script, module }: Bundle, policy?: string): Promise<Page> {
  const site = await serve(scripts);
  onTestFinished(() => site.close());
  return openApp(site.page({ script, module, ...(policy !== undefined && { policy }) }));
}

/** Checks the app's results on each backend, and which entry points it has loaded. */
async function tryAll(page: Page): Promise<void> {
  for (const [ran, options] of [
    ['workers', {}],
    ['workers', { backend: 'workers', workers: 2 }],
    ['webgpu', { adapter: 'software' }],
    ['reference', { backend: 'reference' }],
  ] as const) {
    const outcome = await page.evaluate((options) => (globalThis as unknown as App).run(options), options);
    expect(outcome).toEqual({ ran, ...expected });
  }
  const found = await page.evaluate(async () => {
    const { entries } = globalThis as unknown as App;
    const modules = await Promise.all(
      Object.entries(entries).map(async ([name, load]) => [name, await load()] as const),
    );
    return modules.filter(([, module]) => Object.keys(module).length > 0).map(([name]) => name);
  });
  expect(found).toEqual(loaded.map(({ name }) => name));
}

/**
 * webpack is left out here, because it needs tens of seconds to minify the whole app. The smaller app below is minified
 * by webpack too.
 */
const quick = Object.entries(bundlers).filter(([name]) => name !== 'webpack');

describe.each(quick)('%s', (_, bundle) => {
  test('bundles every entry point for pages without flags or warnings, and the bundle runs', async () => {
    const made = await bundle(project.folder, 'app.js');
    expect(made.warnings).toEqual([]);
    expect(Object.values(made.scripts).some((text) => /(from|import|require) ?\(? ?["']node:/.test(text))).toBe(false);
    await tryAll(await openBundle(made));
  }, 60_000);

  test.each(forNode.map(({ name }) => name))('reports that %s is not for pages', async (name) => {
    const specifier = name.replace('.', 'quadrille');
    await project.write('for-node.js', `import * as all from '${specifier}';\nconsole.log(all);\n`);
    const said = await bundle(project.folder, 'for-node.js').then(
      ({ warnings }) => warnings.join('\n'),
      (error: Error) => error.message,
    );
    expect(said).toContain(name.slice(1));
    expect(said).toContain('quadrille');
  });
});

test.each([
  ['vite', "import workerUrl from 'quadrille/page-worker.js?url';"],
  ['webpack', "const workerUrl = new URL('quadrille/page-worker.js', import.meta.url);"],
] as const)(
  '%s emits the worker file for pages whose policy forbids blob: workers',
  async (name, found) => {
    const forced = small.replace('open(options)', 'open({ ...options, workerUrl })');
    await project.write('strict.js', `${found}\n${forced}`);
    const bundle = await bundlers[name]!(project.folder, 'strict.js');
    expect(bundle.warnings).toEqual([]);
    const page = await openBundle(bundle, "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'");
    const outcome = await page.evaluate((options) => (globalThis as unknown as App).run(options), {});
    expect(outcome).toEqual({ ran: 'workers', ...expected });
  },
  60_000,
);

test('the development server of Vite runs the package, and errors name lines of the app', async () => {
  const server = await createServer({
    root: project.folder,
    configFile: false,
    logLevel: 'silent',
    server: { host: 'localhost', port: 0, headers: ISOLATION },
  });
  onTestFinished(() => server.close());
  await server.listen();
  const page = await openApp(server.resolvedUrls!.local[0]!);
  await tryAll(page);
  expect(await page.evaluate(() => (globalThis as unknown as App).place())).toMatchObject({
    file: expect.stringMatching(/\/app\.js/),
    line: WRONG,
  });
}, 60_000);
