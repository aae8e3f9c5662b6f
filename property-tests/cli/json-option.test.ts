import { afterAll, beforeAll, expect, test } from 'vitest';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 3, 2)), zone('b', rectangle(1, 1, 4, 3))));
  await shop.write('points.csv', 'x,y\n1,1\n2.5,0.5\n');
  await shop.writeRaster('r.tif');
});
afterAll(() => shop.remove());

const REFERENCE = ['--backend', 'reference'];

test.each([
  ['zonal', '--zones', '@zones.json', '--raster', '@r.tif', '--stats', '@s.csv', ...REFERENCE],
  ['zonal', '--zones', '@zones.json', '--raster', '@r.tif', '--unique', '-o', '@h.csv', ...REFERENCE],
  ['raster', 'encode', '@r.tif', '-o', '@r.qbp'],
  ['raster', 'decode', '@r.qbp', '-o', '@again.tif'],
  ['index', 'build', '@zones.json', '-o', '@zones.maq', '--levels', '4', ...REFERENCE],
  ['index', 'query', '@zones.maq', '--points', '@points.csv', '-o', '@found.csv', ...REFERENCE],
])('%s %s with --json prints the figures of the log', async (...words) => {
  const { exitCode, stdout, stderr } = await shop.quadrille([...words, '--json', '--json-log']);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  const told = stderr
    .trim()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line))
    .find(({ event }) => event === 'result')!;
  const { event, ...figures } = told;
  expect(event).toBe('result');
  expect(JSON.parse(stdout.replaceAll(`${shop.folder}/`, ''))).toEqual(figures);
});

test('compare with --json prints what it writes to --out', async () => {
  const words = ['compare', '@zones.json', '@zones.json', ...REFERENCE, '--out', '-'];
  const timeless = (text: string): unknown => ({ ...JSON.parse(text), seconds: undefined });
  const [json, out] = await Promise.all([shop.quadrille([...words.slice(0, -2), '--json']), shop.quadrille(words)]);
  expect(timeless(json.stdout)).toEqual(timeless(out.stdout));
  expect(await shop.quadrille([...words, '--json'])).toMatchObject({ exitCode: 2, stdout: '' });
});

test('with --json, answers go to stdout only if asked for, which is refused', async () => {
  const words = ['index', 'query', '@zones.maq', '--points', '@points.csv', ...REFERENCE];
  expect(JSON.parse((await shop.quadrille([...words, '--json'])).stdout)).toMatchObject({ outputs: [] });
  expect(await shop.quadrille([...words, '--json', '-o', '-'])).toMatchObject({ exitCode: 2, stdout: '' });
});

test('zonal with --json says that histograms are not written', async () => {
  const words = ['zonal', '--zones', '@zones.json', '--raster', '@r.tif', '--unique', ...REFERENCE];
  const { stdout, stderr } = await shop.quadrille([...words, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ zones: 2, outputs: [] });
  expect(stderr).toContain('The histograms are not written, because stdout holds the figures; --out FILE writes them.');
});

test('-q is --quiet', async () => {
  const words = ['compare', '@zones.json', '@zones.json', ...REFERENCE];
  expect((await shop.quadrille(words)).stderr).not.toBe('');
  expect((await shop.quadrille([...words, '-q'])).stderr).toBe('');
});
