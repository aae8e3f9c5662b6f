import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { parseNeighboursArguments } from '../../cli/neighbours-arguments.ts';
import { Context } from '../../primitives/context/context.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { f64, neighboursOf, square } from './neighbours-command-support.ts';

let context: Context;
beforeAll(() => {
  context = new Context(createReferenceBackend());
});
afterAll(() => context.close());

describe('a command line', () => {
  test.each<readonly [string, string, RegExp]>([
    ['', 'usage/neighbours', /The kind of neighbours is missing\. Give one of -k K and --radius R\./],
    ['-k 3 --radius 3', 'usage/neighbours', /exclude each other/],
    ['-k 0', 'usage/not-a-count', /^-k 0 is not a whole number of at least 1/],
    ['-k 1048576', 'usage/out-of-range', /at most 1048575, got 1048576/],
    ['--radius -1', 'usage/out-of-range', /must be at least 0; got -1/],
    ['--radius nan', 'usage/not-a-number', /finite number/],
    ['-k 3 --metric l65', 'usage/not-a-choice', /l3 to l64/],
    ['-k 3 --metric cosin', 'usage/not-a-choice', /Did you mean cosine\?/],
    ['-k 3 --with-self --queries q', 'usage/contradiction', /--with-self/],
    ['-k 3 --query-id no', 'usage/contradiction', /without --queries/],
    ['-k 3 --json --plot -', 'usage/stdout-twice', /--plot and --json/],
    ['-k 3 --out near.parquet', 'usage/format', /\.csv, \.json or \.arrow/],
    ['-k 3 --plot near.png', 'usage/format', /\.svg/],
    ['-k 3 --queries -', 'usage/stdin', /stdin/],
    ['-k 3 other', 'usage/stray-word', /other/],
  ])('%s is refused', (words, code, message) => {
    const refused = (): unknown => parseNeighboursArguments(['points', ...words.split(' ').filter(Boolean)]);
    expect(refused).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });

  test('inner products can be negative', async () => {
    const points = { x: f64(1, 2), y: f64(0, 0) };
    const words = '--radius -3 --metric inner --with-self'.split(' ');
    const { stdout } = await neighboursOf(context, { points }, words);
    expect(stdout.toString()).toBe('query,id,distance\n1,1,-4\n');
  });
});

describe('files', () => {
  let shop: Workshop;
  beforeAll(async () => {
    shop = await openWorkshop();
    await shop.write('points.csv', 'name,x,y\na,0,0\nb,3,4\nc,,1\n');
    await shop.write('header.csv', 'x,y\n');
    await shop.write('empty.csv', '');
    await shop.write('words.csv', 'x,y\n1,2\nthree,4\n');
    const arrow = await neighboursOf(context, { points: square }, ['-k', '2', '--format', 'arrow']);
    await shop.write('cut.arrow', arrow.stdout.subarray(0, arrow.stdout.length / 2));
  });
  afterAll(() => shop.remove());
  const run = (...words: string[]) => shop.quadrille(['neighbours', ...words, '--backend', 'reference']);

  test('are read and written', async () => {
    const { exitCode, stderr } = await run(
      ...'@points.csv -k 4 --on-bad-record skip --id name --out @near.json --plot @near.svg'.split(' '),
    );
    expect([exitCode, stderr.split('\n')]).toEqual([
      0,
      [
        'note: 1 row of points.csv without finite coordinates was skipped. Row 2: x is null.',
        '2 points of points.csv, 4 nearest: 2 rows.',
        'Distances (l2): 5 to 5, mean 5.',
        expect.stringMatching(/^[\d.]+ s on reference, \d+ queries per second\.$/),
        'Wrote near.json, near.svg.',
        '',
      ],
    ]);
    expect(JSON.parse(await readFile(shop.path('near.json'), 'utf8'))).toEqual([
      { query: 'a', rank: 1, id: 'b', distance: 5 },
      { query: 'b', rank: 1, id: 'a', distance: 5 },
    ]);
    expect(await readFile(shop.path('near.svg'), 'utf8')).toContain('<title>points.csv</title>');
  });

  test('without rows give no neighbours, and a note', async () => {
    const { exitCode, stdout, stderr } = await run('@header.csv', '-k', '2');
    expect([exitCode, stdout]).toEqual([0, 'query,rank,id,distance\n']);
    expect(stderr).toContain('note: There are no points, so there are no neighbours.\n0 points of header.csv');
  });

  test.each<readonly [string, RegExp]>([
    ['@empty.csv -k 2', /empty\.csv.*The file is empty/],
    ['@missing.csv -k 2', /There is no such file/],
    [
      '@words.csv -k 2',
      /The column "x" of .*words\.csv does not hold numbers\. Expected one of its columns of numbers: y, got string/,
    ],
    ['@points.csv -k 2', /points\.csv, record 2: A point has no valid coordinates: x is null/],
    ['@cut.arrow -k 2', /cut\.arrow/],
    ['@points.csv -k 2 --queries @missing.csv', /missing\.csv: There is no such file/],
    ['@points.csv -k 2 --out @points.csv', /both read and written/],
    ['@points.csv -k 2 --memory 40 --on-bad-record skip', /too many points to be held in memory.*--memory/],
  ])('%s: a clear error, and nothing written', async (words, message) => {
    const before = (await readdir(shop.folder)).toSorted();
    const { exitCode, stdout, stderr } = await run(...words.split(' '));
    expect([stdout, stderr]).toEqual(['', expect.stringMatching(message)]);
    expect(exitCode).toBe(/--memory/.test(words) ? 1 : 2);
    expect((await readdir(shop.folder)).toSorted()).toEqual(before);
  });
});
