import { execFile, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseHTML } from 'linkedom';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtInExperiments } from '../../../bench/experiments/index.ts';
import { versionOf } from '../../../bench/peers/program.ts';
import { PROGRAMS } from '../../../bench/programs/programs.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { builtCommand } from '../../support/built-package.ts';
import { type Ending, openWorkshop, type Workshop } from '../../support/cli-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
});
afterAll(() => shop.remove());

const EXAMPLE = fileURLToPath(new URL('../../../examples/bench-dot-product.mjs', import.meta.url));
const BIN = await builtCommand();
const QUICK = ['--backends', 'reference', '--peers', 'javascript', '--rounds', '2'];

function bench(...args: readonly string[]): Promise<Ending> {
  return shop.quadrille(['bench', ...args]);
}

async function hasCompiler(): Promise<boolean> {
  return (await versionOf('g++', '--version')) !== undefined;
}

let compiled: Promise<string[]> | undefined;

/**
 * Options that name C++ peers. The peers are compiled here once, without optimization, in a fifth of the time of an
 * optimized compilation. Under `npm run test:thorough`, there are no such options, and the command compiles its peers.
 */
function compiledPeers(): Promise<string[]> {
  compiled ??= compilePeers();
  return compiled;
}

async function compilePeers(): Promise<string[]> {
  if (THOROUGH || !(await hasCompiler())) return [];
  const source = fileURLToPath(new URL('../../../bench/peers/primitives.cpp', import.meta.url));
  const program = shop.path('peers');
  await promisify(execFile)('g++', ['-O0', '-std=c++20', '-pthread', '-o', program, source]);
  return ['--compiled', `cpp=${program}`];
}

/** The rows of a CSV without quoted fields, as records by column name. */
function rowsOf(csv: string): Record<string, string>[] {
  const [head, ...lines] = csv.trimEnd().split('\n');
  const names = head!.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i]!, cell])));
}

const textOf = (name: string): Promise<string> => readFile(shop.path(name), 'utf8');

/** The errors in an XML text, such as mismatched tags and bad characters; empty if the text is well-formed. */
function faultsOf(xml: string): string[] {
  const open: string[] = [];
  const faults: string[] = [];
  for (const [, close, name, rest] of xml.matchAll(/<(\/?)([\w:-]+)((?:[^<>"]|"[^"<]*")*)>/g)) {
    if (close === '/') {
      if (open.pop() !== name) faults.push(`</${name}>`);
    } else if (!rest!.endsWith('/')) open.push(name!);
  }
  const outside = xml.replaceAll(/<\/?[\w:-]+(?:[^<>"]|"[^"<]*")*>/g, '');
  return [...faults, ...open, ...(/[<>]|&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-f]+);)/i.test(outside) ? ['text'] : [])];
}

describe('quadrille bench', () => {
  test('writes all files into a folder that it creates', async () => {
    const { exitCode, stdout, stderr } = await bench(
      ...QUICK,
      '--only',
      'copy,map,chain',
      '--sizes',
      '10,2^8',
      '--out',
      '@deep/out',
    );
    expect([exitCode, stdout]).toEqual([0, '']);
    const lines = stderr.trimEnd().split('\n');
    // A line for each case as soon as it is measured.
    for (const name of ['copy', 'map', 'chain']) {
      for (const n of ['10', '2\\^8'])
        expect(stderr).toMatch(
          new RegExp(`^${name} u32 ${n}: reference [\\d.]+ [nµm]?s, javascript [\\d.]+ [nµm]?s$`, 'm'),
        );
    }
    expect(lines).toHaveLength(8);
    expect(lines[6]).toMatch(/^12 rows, [\d.]+ s on reference, javascript\.$/);
    expect(lines[7]).toMatch(/^Wrote deep\/out\/bench\.csv, /);
    const files = ['bench-rate.svg', 'bench-ratios.svg', 'bench-time.svg', 'bench.csv', 'bench.html', 'bench.json'];
    expect((await readdir(shop.path('deep/out'))).sort()).toEqual(files);

    const rows = rowsOf(await textOf('deep/out/bench.csv'));
    expect(rows.map(({ experiment, type, n, candidate }) => `${experiment} ${type} ${n} ${candidate}`)).toEqual(
      ['copy', 'map', 'chain'].flatMap((name) =>
        [10, 256].flatMap((n) => ['reference', 'javascript'].map((on) => `${name} u32 ${n} ${on}`)),
      ),
    );
    for (const { min_ns, median_ns, max_ns, rounds, checked } of rows) {
      expect(Number(min_ns)).toBeLessThanOrEqual(Number(median_ns));
      expect(Number(median_ns)).toBeLessThanOrEqual(Number(max_ns));
      expect([rounds, checked]).toEqual(['2', 'true']);
    }
    const json = JSON.parse(await textOf('deep/out/bench.json'));
    expect(json).toMatchObject({ complete: true, omissions: [], machine: { node: process.versions.node } });
    expect(json.rows).toHaveLength(12);
    expect(json.rows[0]).toMatchObject({ experiment: 'copy', n: 10, bytes: 80, kind: 'backend', clock: 'host' });
  });

  test('draws well-formed SVG, and a self-contained page', async () => {
    for (const name of ['time', 'rate', 'ratios']) {
      const svg = await textOf(`deep/out/bench-${name}.svg`);
      expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" /);
      expect(faultsOf(svg)).toEqual([]);
    }
    expect(await textOf('deep/out/bench-time.svg')).toMatch(/chain u32[\s\S]*<path/);
    expect(await textOf('deep/out/bench-ratios.svg')).toContain('map u32 2^8: reference and javascript');
    const page = await textOf('deep/out/bench.html');
    expect(page).toContain('Every result was compared with the reference');
    expect(page).not.toMatch(/<script|<link|<img|\ssrc=|\shref=|@import|url\((?!#)/);
    const { document } = parseHTML(page);
    expect([...document.querySelectorAll('h2')].map(({ textContent }) => textContent)).toEqual([
      'Machine',
      'What was compared',
      'Time',
      'Rate',
      'Peers',
      'copy',
      'map',
      'chain',
    ]);
    expect(document.querySelectorAll('svg')).toHaveLength(3);
    expect(document.querySelectorAll('section:last-child tr')).toHaveLength(5);
  });

  test('writes only the named files', async () => {
    expect((await bench(...QUICK, '--only', 'map', '--sizes', '3', '--out', '@some', '--csv')).exitCode).toBe(0);
    expect(await readdir(shop.path('some'))).toEqual(['bench.csv']);
  });

  test('prints its results on stdout: a table, CSV or JSON', async () => {
    const words = [...QUICK, '--only', 'sort', '--sizes', '5', '--types', 'u32,f32', '--quiet'];
    const table = (await bench(...words)).stdout.split('\n');
    expect(table[0]).toMatch(/^\| experiment \| type \| n \| candidate {2}\| median/);
    expect(
      table.slice(2, 6).map((line) =>
        line
          .split('|')
          .slice(1, 5)
          .map((cell) => cell.trim())
          .join(' '),
      ),
    ).toEqual(['sort u32 5 reference', 'sort u32 5 javascript', 'sort f32 5 reference', 'sort f32 5 javascript']);
    expect(rowsOf((await bench(...words, '--csv')).stdout)).toHaveLength(4);
    expect(JSON.parse((await bench(...words, '--json')).stdout).rows).toHaveLength(4);
  });

  test('lists experiments, those of a user file included', async () => {
    const { stdout } = await bench('--list', '--experiment', EXAMPLE);
    const names = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s+/)[0]);
    expect(names).toEqual([...builtInExperiments.map(({ name }) => name), 'dot']);
    expect(stdout).toMatch(/^dot +u32, f32$/m);
  });

  test('measures experiments of user files', async () => {
    const words = [
      '--experiment',
      EXAMPLE,
      '--only',
      'dot',
      '--sizes',
      '1,1000',
      '--types',
      'u32,f32',
      '--csv',
      '--quiet',
    ];
    const { exitCode, stdout } = await bench(
      ...words,
      '--backends',
      'workers,reference',
      '--peers',
      'javascript',
      '--rounds',
      '1',
    );
    expect(exitCode).toBe(0);
    expect(rowsOf(stdout).map(({ type, n, candidate, bytes }) => `${type} ${n} ${candidate} ${bytes}`)).toEqual(
      ['u32', 'f32'].flatMap((type) =>
        [1, 1000].flatMap((n) => ['workers', 'reference', 'javascript'].map((on) => `${type} ${n} ${on} ${8 * n}`)),
      ),
    );
  });

  test('accepts asynchronous experiments, in a list', async () => {
    await shop.write(
      'waits.mjs',
      `export default ({ sort }) => [{
        name: 'waits',
        inputs: ({ n }) => ({ x: Uint32Array.from({ length: n }, (_, i) => n - i) }),
        async run({ x }, { context }) {
          const sorted = sort(x);
          await context.sync();
          return sorted;
        },
      }];`,
    );
    const words = [
      '--experiment',
      '@waits.mjs',
      '--only',
      'waits',
      '--sizes',
      '4',
      '--csv',
      '--quiet',
      '--rounds',
      '1',
    ];
    const { exitCode, stdout } = await bench(
      ...words,
      '--backends',
      'workers',
      '--peers',
      'all',
      ...(await compiledPeers()),
    );
    expect([exitCode, rowsOf(stdout).map(({ candidate, gb_per_s }) => [candidate, gb_per_s])]).toEqual([
      0,
      [['workers', '']],
    ]);
  });

  test('does not time wrong results: the rest is written, then it fails', async () => {
    await shop.write(
      'wrong.mjs',
      `export default {
        name: 'wrong',
        inputs: ({ n }) => ({ x: new Uint32Array(n) }),
        run: ({ x }) => x,
        plain: ({ x }) => x,
        reference: ({ x }) => x.map((_, i) => Number(i === 2)),
      };`,
    );
    const words = ['--experiment', '@wrong.mjs', '--only', 'wrong,map', '--sizes', '2,3', '--csv'];
    const { exitCode, stdout, stderr } = await bench(...words, ...QUICK);
    expect(exitCode).toBe(1);
    expect(rowsOf(stdout).map(({ experiment, n, candidate }) => `${experiment} ${n} ${candidate}`)).toEqual([
      'map 2 reference',
      'map 2 javascript',
      'map 3 reference',
      'map 3 javascript',
      'wrong 2 reference',
      'wrong 2 javascript',
    ]);
    const sentence = 'skips wrong u32 3: its answer is wrong: 0 instead of 1 in row 2';
    expect(stderr).toContain(`note: reference ${sentence}\nnote: javascript ${sentence}\n`);
    expect(stderr).toContain(`quadrille: reference ${sentence}. And 1 more.\n`);
    const unchecked = await bench(...words, ...QUICK, '--check-up-to', '2');
    expect([unchecked.exitCode, rowsOf(unchecked.stdout).filter(({ checked }) => checked === 'false').length]).toEqual([
      0, 4,
    ]);
  });

  test('fails when an experiment fails, and measures the others', async () => {
    await shop.write(
      'fails.mjs',
      `export default { name: 'fails', inputs: () => ({}), run() { throw new Error('no such luck\\nat all'); } };`,
    );
    const words = ['--experiment', '@fails.mjs', '--only', 'fails,map', '--sizes', '2', '--csv', ...QUICK];
    const { exitCode, stdout, stderr } = await bench(...words);
    expect([exitCode, rowsOf(stdout)]).toMatchObject([1, [{ experiment: 'map' }, { experiment: 'map' }]]);
    expect(stderr).toContain('quadrille: reference skips fails u32 2: no such luck.\n');
  });
});

describe('experiments of users', () => {
  test('can be instances of classes', async () => {
    await shop.write(
      'instance.mjs',
      `class Fill { name = 'instance'; value = 7; inputs({ n }) { return { x: new Uint32Array(n).fill(this.value) }; }
        run({ x }) { return x; } plain({ x }) { return x.map(() => this.value); } bytes({ n }) { return 8 * n; } }
      export default Object.freeze(new Fill());`,
    );
    const words = ['--experiment', '@instance.mjs', '--only', 'instance', '--sizes', '2', '--csv', ...QUICK];
    const { exitCode, stdout } = await bench(...words);
    expect([exitCode, rowsOf(stdout).map(({ bytes }) => bytes)]).toEqual([0, ['16', '16']]);
  });

  test('can return records of columns', async () => {
    await shop.write(
      'record.mjs',
      `export default { name: 'record', inputs: ({ n }) => ({ x: new Uint32Array(n), y: new Uint32Array(n).fill(1) }),
        run: ({ x, y }) => ({ keys: x, values: y }), plain: ({ x, y }) => ({ keys: x, values: y }) };`,
    );
    const words = ['--experiment', '@record.mjs', '--only', 'record', '--sizes', '2', '--csv', ...QUICK];
    const { exitCode, stdout } = await bench(...words);
    expect([exitCode, rowsOf(stdout).map(({ checked }) => checked)]).toEqual([0, ['true', 'true']]);
  });

  test.each([
    ['inputs', 2],
    ['bytes', 2],
    // A peer with a wrong result is left out, so the command succeeds.
    ['tolerance', 0],
  ])('are named when their %s throws', async (member, code) => {
    await shop.write(
      `throws-${member}.mjs`,
      `export default { name: 'throws', inputs: ({ n }) => ({ x: new Uint32Array(n) }), run: ({ x }) => x, plain: ({ x }) => x,
        ${member}() { throw new Error('ouch'); } };`,
    );
    const words = ['--experiment', `@throws-${member}.mjs`, '--only', 'throws', '--sizes', '2', '--csv', ...QUICK];
    const { exitCode, stderr } = await bench(...words);
    expect(exitCode).toBe(code);
    expect(stderr).toMatch(new RegExp(`${member} of throws in [^ ]*throws-${member}\\.mjs threw an error: ouch`));
    expect(stderr).not.toContain('mistake in quadrille');
  });

  test('can be made by an asynchronous function, but not their inputs', async () => {
    await shop.write(
      'waits.mjs',
      `export default async () => ({ name: 'waits', inputs: ({ n }) => ({ x: new Uint32Array(n) }), run: ({ x }) => x });`,
    );
    const words = ['--only', 'waits', '--sizes', '2', '--csv', ...QUICK];
    expect((await bench('--experiment', '@waits.mjs', ...words)).exitCode).toBe(0);
    await shop.write(
      'late.mjs',
      `export default { name: 'late', run: ({ x }) => x, inputs: async () => { throw new Error('ouch'); } };`,
    );
    const late = await bench('--experiment', '@late.mjs', '--only', 'late', '--sizes', '2', ...QUICK);
    expect([late.exitCode, late.stderr]).toEqual([2, expect.stringContaining('inputs of experiment late must return')]);
  });

  test('are named when the function that makes them throws, or their result is not a column', async () => {
    await shop.write('broken.mjs', `export default () => { throw new Error('ouch'); };`);
    const broken = await bench('--experiment', '@broken.mjs', '--list');
    expect([broken.exitCode, broken.stderr]).toEqual([2, expect.stringMatching(/broken\.mjs threw an error: ouch\n/)]);
    await shop.write(
      'none.mjs',
      `export default { name: 'none', inputs: ({ n }) => ({ x: new Uint32Array(n) }), run: () => 3 };`,
    );
    const none = await bench('--experiment', '@none.mjs', '--only', 'none', '--sizes', '2', '--csv', ...QUICK);
    expect([none.exitCode, none.stderr]).toEqual([
      1,
      expect.stringMatching(/quadrille: reference skips none .*[^.]\.\n/),
    ]);
  });
});

describe('without --types', () => {
  test('an experiment that has no u32 runs with its first type', async () => {
    await shop.write(
      'floats.mjs',
      `export default ({ fn, f32, map }) => ({
        name: 'halves',
        types: ['f32'],
        inputs: ({ n }) => ({ x: new Float32Array(n).fill(3) }),
        run: ({ x }, { context }) => context.materialize(map(fn({ x: f32 }, f32, ({ x }) => x.div(2)), { x })),
      });`,
    );
    const words = [
      '--experiment',
      '@floats.mjs',
      '--only',
      'halves',
      '--sizes',
      '9',
      '--rounds',
      '1',
      '--peers',
      'none',
    ];
    const { exitCode, stdout, stderr } = await bench(...words, '--backends', 'reference', '--csv');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('halves f32 9: reference ')]);
    expect(rowsOf(stdout)).toMatchObject([{ experiment: 'halves', type: 'f32' }]);
  });

  test('a word that is no option is taken for an experiment', async () => {
    const { exitCode, stderr } = await bench('sort');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--only sort')]);
  });
});

describe('peers', () => {
  test('are omitted when they are not installed', async () => {
    process.env.CXX = 'no-such-compiler';
    process.env.NVCC = 'no-such-compiler';
    try {
      const words = ['--only', 'map', '--sizes', '9', '--rounds', '1', '--backends', 'reference', '--csv'];
      const { exitCode, stdout, stderr } = await bench(...words, '--peers', 'cpp,cuda,duckdb,arquero,luma');
      expect([exitCode, rowsOf(stdout).map(({ candidate }) => candidate)]).toEqual([0, ['reference']]);
      for (const peer of ['cpp', 'cuda']) expect(stderr).toContain(`note: The peer ${peer} is not installed.\n`);
      expect(stderr).toMatch(/\n1 row, [\d.]+ s on reference\.\n$/);
      const all = await bench(...words, '--peers', 'all');
      expect(all.stderr).not.toContain('There is no');
      const broken = await bench(...words, '--peers', 'cpp', '--compiled', 'cpp=no-such-program');
      expect(broken.exitCode).toBe(0);
      expect(broken.stderr).toContain(
        'note: c++ skips map u32 9: no-such-program ended: spawn no-such-program ENOENT.',
      );
    } finally {
      delete process.env.CXX;
      delete process.env.NVCC;
    }
  });

  test('in C++ give the results of the reference, on one thread and on several', async () => {
    const isHere = await hasCompiler();
    const names = 'copy map reduce scan copyIf gather scatter sort sortByKey reduceByKey histogram merge chain'.split(
      ' ',
    );
    const words = ['--only', names.join(','), '--sizes', '1,17,1000', '--rounds', '1', '--csv', '--peers', 'cpp'];
    const { exitCode, stdout } = await bench(...words, '--backends', 'reference', ...(await compiledPeers()));
    expect(exitCode).toBe(0);
    const rows = rowsOf(stdout);
    const cases = names.flatMap((name) => [1, 17, 1000].map((n) => `${name} ${n}`));
    for (const candidate of new Set(rows.map((row) => row.candidate))) {
      const done = rows.filter((row) => row.candidate === candidate).map(({ experiment, n }) => `${experiment} ${n}`);
      expect([candidate, done]).toEqual([candidate, cases]);
    }
    expect(rows.some(({ candidate }) => candidate === 'c++')).toBe(isHere);
  });

  test('in C++ give the results of programs, down to a single cell or point', async () => {
    // Compiling a twin takes seconds.
    const twins = someOf(
      PROGRAMS.filter(({ cpp }) => cpp !== undefined),
      1,
    ).map(({ name }) => name);
    const sizes = someOf([1, 1000], 1);
    const words = ['--only', twins.join(','), '--sizes', sizes.join(','), '--rounds', '1', '--csv'];
    const { exitCode, stdout, stderr } = await bench(
      ...[...words, '--backends', 'workers', '--peers', 'cpp,javascript'],
      ...(await compiledPeers()),
    );
    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('skips')]);
    const rows = rowsOf(stdout);
    expect(rows.every(({ checked }) => checked === 'true')).toBe(true);
    const cases = (name: string): string[] =>
      rows.filter(({ candidate }) => candidate === name).map(({ experiment, n }) => `${experiment} ${n}`);
    expect(cases('workers').length).toBeGreaterThanOrEqual(sizes.length * twins.length);
    expect(cases('javascript')).toEqual(cases('workers'));
    expect(cases('c++')).toEqual((await hasCompiler()) ? cases('workers') : []);
  });
});

describe('programs', () => {
  test('are experiments, alone or by kinds of inputs, which one name selects', async () => {
    for (const { name, kinds } of PROGRAMS) {
      const { exitCode, stdout } = await bench('--only', name, '--list');
      const listed = stdout.trimEnd().split('\n');
      expect([exitCode, listed.length]).toEqual([0, Object.keys(kinds).length]);
      for (const line of listed) expect(line).toMatch(new RegExp(`^${name}(-[a-z-]+)? +[uf]32$`));
    }
  });
});

describe('bad input', () => {
  test.each([
    [['--only', 'srot'], 'There is no experiment srot. Did you mean sort?'],
    [['--only', 'histogram', '--types', 'f32'], 'None of the chosen experiments supports these element types.'],
    [['--sizes', '0'], "--sizes: '0' is not a number of elements."],
    [['--sizes', '2^32'], "--sizes: '2^32' is not"],
    [['--sizes', '2^9..2^3'], "--sizes: '2^9..2^3' is not a range of sizes."],
    [['--types', 'u23'], '--types cannot have u23. Did you mean u32?'],
    [['--backends', 'worker'], '--backends cannot have worker. Did you mean workers?'],
    [['--backends', 'workers', '--adapter', 'software'], '--adapter has no effect with --backends workers.'],
    [['--peers', 'rust'], '--peers cannot have rust. Choose from'],
    [['--compiled', 'rust=x'], '--compiled rust=x is not of the form PEER=FILE.'],
    [['--rounds', '0'], '--rounds 0 is not a whole number of at least 1.'],
    [['--html'], '--html needs a folder.'],
    [['--csv', '--json'], '--csv and --json cannot both write to stdout.'],
    [['--experiment', '@nothing.mjs'], 'nothing.mjs cannot be loaded: there is no such file.'],
    [['--experiment', '@text.mjs'], 'text.mjs cannot be loaded:'],
    [['--experiment', '@empty.mjs'], 'empty.mjs is not an experiment: it is undefined.'],
    [['--experiment', '@nameless.mjs'], 'its name is not one word'],
    [['--experiment', '@runless.mjs'], 'run of x is not a function'],
    [['--experiment', '@typed.mjs'], 'types of x must be among u32, i32, f32'],
    [['--experiment', '@twice.mjs'], 'Two experiments are called map.'],
    [['--tuning', '@tuning.json', '--adapter', 'software'], "tuning.json: A tuning has no member 'scan.itens'."],
    [['--out', '@text.mjs'], 'text.mjs is not a writable folder.'],
  ])('%j is refused', async (words, sentence) => {
    await shop.write('text.mjs', 'this is no module');
    await shop.write('empty.mjs', 'export const x = 1;');
    await shop.write('nameless.mjs', 'export default { inputs() {}, run() {} };');
    await shop.write('runless.mjs', "export default { name: 'x', inputs() {} };");
    await shop.write('typed.mjs', "export default { name: 'x', types: ['u64'], inputs() {}, run() {} };");
    await shop.write('twice.mjs', "export default { name: 'map', inputs() {}, run() {} };");
    await shop.write('tuning.json', { scan: { itens: 3 } });
    const { exitCode, stdout, stderr } = await bench(...words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(sentence);
  });
});

test('a module with a syntax error is reported with its line', async () => {
  await shop.write('faulty.mjs', 'export default {\n  name: "a",\n  inputs() { return {; },\n};\n');
  const words = [BIN, 'bench', '--list', '--experiment', shop.path('faulty.mjs')];
  const { code, stderr } = await promisify(execFile)(process.execPath, words).catch((error) => error);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/faulty\.mjs:3: The module cannot be loaded: Unexpected token/),
  ]);
});

describe('Ctrl-C', () => {
  /** A module that is loaded before the program. It sends Ctrl-C when two rounds are done. */
  const PRESS = `
    const write = process.stderr.write.bind(process.stderr);
    let pressed = false;
    process.stderr.write = (text, ...rest) => {
      const done = Number(/"doneRounds":(\\d+)/.exec(text)?.[1] ?? 0);
      if (!pressed && done >= 2) {
        pressed = true;
        process.kill(process.pid, 'SIGINT');
      }
      return write(text, ...rest);
    };`;

  test('ends the run, and finished measurements are written', async () => {
    const words = [
      '--backends',
      'reference',
      '--peers',
      'none',
      '--only',
      'map',
      '--sizes',
      '2^16',
      '--rounds',
      '1000000',
    ];
    const loader = `data:text/javascript,${encodeURIComponent(PRESS)}`;
    const child = spawn(process.execPath, [
      '--import',
      loader,
      BIN,
      'bench',
      ...words,
      '--json-log',
      '--out',
      shop.path('stopped'),
    ]);
    let stderr = '';
    child.stderr.on('data', (chunk) => (stderr += chunk));
    const exitCode = await new Promise((resolve) => child.on('close', resolve));
    expect(exitCode).toBe(130);
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({
      event: 'error',
      code: 'run/interrupted',
      message: 'Stopped by SIGINT; the results so far were written.',
    });
    const { complete, rows } = JSON.parse(await textOf('stopped/bench.json'));
    expect([complete, rows.length]).toEqual([false, 1]);
    expect(rows[0].rounds).toBeGreaterThanOrEqual(2);
    expect(rows[0].rounds).toBeLessThan(1000000);
    expect(rowsOf(await textOf('stopped/bench.csv'))).toHaveLength(1);
  });
});
