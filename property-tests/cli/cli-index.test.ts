import { readdir } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodeOf } from '../../cli/failure.ts';
import { parseBuildArguments } from '../../cli/index-arguments.ts';
import { runIndexBuild } from '../../cli/index-build.ts';
import { runIndexQuery } from '../../cli/index-query.ts';
import { parseQueryArguments } from '../../cli/index-query-arguments.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import type { Log } from '../../cli/log.ts';
import { buildParts, queryParts } from '../../cli/parts.ts';
import { answer, type IndexWorkshop, openIndexWorkshop, quietLog } from './cli-index-support.ts';

let shop: IndexWorkshop;
beforeAll(async () => {
  shop = await openIndexWorkshop();
});
afterAll(() => shop.remove());

describe('bad usage', () => {
  test.each([
    [['index'], 'No command is given. See quadrille index --help.'],
    [['index', 'biuld'], 'Did you mean index build?'],
    [['index', 'build'], 'FILE is missing'],
    [['index', 'build', '@shapes.geojson'], '--out is missing'],
    [['index', 'build', '@nowhere.json', '-o', '@x.maq'], 'nowhere.json: There is no such file'],
    [['index', 'build', '@points.csv', '-o', '@x.maq'], 'There is no column with geometries'],
    [['index', 'build', '@shapes.geojson', '-o', '@shapes.geojson'], 'which does not match .geojson'],
    [['index', 'build', '@shapes.maq', '-o', '@shapes.maq'], 'both read and written'],
    [['index', 'build', '@shapes.geojson', '-o', '@no/x.maq'], 'its folder does not exist'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--levels', '31'], 'not a whole number from 0 to 30'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--domain', '1,2'], 'not of the form left,bottom,size'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--domain', '1,2,0'], 'the size 0 is not'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--plot', '@x.gif'], 'ends in neither .svg nor .png'],
    [['index', 'build', '@shapes.geojson', '-o', '-', '--plot', '-'], 'cannot both write to stdout'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--leevls', '3'], 'Did you mean --levels?'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--layer', 'a'], 'has no layer'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--input-format', 'wkb'], 'Did you mean wkt?'],
    [['index', 'info'], 'TREE is missing'],
    [['index', 'build', '-', '-o', '@x.maq'], '- is stdin, which this command does not read'],
    [['index', 'info', '-'], '- is stdin'],
    [['index', 'info', '@shapes.maq', '--plot-window', '1,2,3'], 'is not of the form left,bottom,right,top'],
    [['index', 'info', '@shapes.maq', '--plot-window', '1,2,3,4'], '--plot-window has no effect without --plot'],
    [['index', 'query', '@shapes.maq', '--points', '-'], '- is stdin'],
    [['index', 'query', '@shapes.maq', '--polygons', '@shapes.maq'], 'got a tree, written by quadrille index build'],
    [['index', 'query', '@shapes.maq'], 'The queries are missing'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '--windows', '@windows.csv'], 'exclude each other'],
    [
      ['index', 'query', '@shapes.maq', '--points', '@points.csv', '--above', '3'],
      '--above has no effect with --points',
    ],
    [['index', 'query', '@shapes.maq', '--windows', '@windows.csv', '--above', '-3'], 'must be at least 0'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '-o', '@x.xlsx'], 'which does not match .xlsx'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '-o', '@points.csv'], 'both read and written'],
    [['index', 'query', '@shapes.maq', '--points', '@nowhere.csv'], 'nowhere.csv: There is no such file'],
    [['index', 'query', '@points.csv', '--points', '@points.csv'], 'not a MAQ-tree file'],
    [
      ['index', 'query', '@shapes.maq', '--points', '@points.csv', '--backend', 'workers', '--adapter', 'software'],
      'has no effect',
    ],
  ])('is reported in one line: %j', async (words, why) => {
    const before = await readdir(shop.folder);
    const { exitCode, stdout, stderr } = await shop.quadrille(words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(why);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test.each([
    [
      ['index', '--help'],
      ['index build', 'index info', 'index query'],
    ],
    [
      ['index', 'build', '--help'],
      ['--levels', '--domain', '--no-edges', '--plot'],
    ],
    [
      ['index', 'info', '--help'],
      ['--json', '--plot-window'],
    ],
    [
      ['index', 'query', '-h'],
      ['--points', '--count', '--above', '--filter-only'],
    ],
  ])('has a help page: %j', async (words, told) => {
    const stdout = await answer(shop.quadrille(words));
    for (const each of told) expect(stdout).toContain(each);
    expect(stdout.split('\n').every((line) => line.length <= 131)).toBe(true);
  });
});

describe('Ctrl-C', () => {
  const surroundings = (at: (controller: AbortController) => Partial<Log>, stdout: Writable) => {
    const controller = new AbortController();
    return {
      log: { ...quietLog(), ...at(controller) },
      stdout,
      signal: controller.signal,
      beforeExit: (): void => undefined,
    };
  };
  const interrupt = (controller: AbortController): void => controller.abort(new Interrupted('SIGINT'));
  const sink = (take: () => void = () => undefined) =>
    new Writable({
      write(_chunk, _encoding, done) {
        take();
        done();
      },
    });
  const failureOf = async (run: Promise<void>): Promise<Error> =>
    run.then(
      () => expect.unreachable(),
      (error) => error,
    );

  test('while building leaves no file', async () => {
    const before = await readdir(shop.folder);
    const words = [shop.path('shapes.geojson'), '-o', shop.path('stopped.maq'), '--plot', shop.path('stopped.svg')];
    const options = parseBuildArguments([...words, '--backend', 'reference']);
    let files: readonly string[] = [];
    const stopping = surroundings((controller) => ({ progress: () => interrupt(controller) }), sink());
    const parts = {
      ...buildParts,
      async openContext(...args: Parameters<typeof buildParts.openContext>) {
        files = await readdir(shop.folder);
        return buildParts.openContext(...args);
      },
    };
    const error = await failureOf(runIndexBuild(options, parts, stopping));
    expect([exitCodeOf(error), error.message]).toEqual([130, 'Stopped by SIGINT; nothing was written.']);
    expect(files.filter((name) => name.endsWith('.tmp'))).toHaveLength(2);
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test('while answering leaves no file, and reports partial output on stdout', async () => {
    await shop.write('long.csv', `x,y\n${'10,10\n'.repeat(20_000)}`);
    const before = await readdir(shop.folder);
    const words = [shop.path('shapes.maq'), '--points', shop.path('long.csv'), '--backend', 'reference'];
    const toFile = parseQueryArguments([...words, '-o', shop.path('stopped.csv')]);
    const atFirst = (controller: AbortController) => ({
      progress: ({ done }: { readonly done: number }) => {
        if (done > 0) interrupt(controller);
      },
    });
    const error = await failureOf(runIndexQuery(toFile, queryParts, surroundings(atFirst, sink())));
    expect([exitCodeOf(error), error.message]).toEqual([130, 'Stopped by SIGINT; nothing was written.']);
    const onStdout = await failureOf(
      runIndexQuery(parseQueryArguments(words), queryParts, surroundings(atFirst, sink())),
    );
    expect(onStdout.message).toMatch(/the output on stdout is incomplete, and no file was written/);
    expect(await readdir(shop.folder)).toEqual(before);
  });
});
