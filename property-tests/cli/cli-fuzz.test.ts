import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

/** Rasters that GDAL has written, with the codecs that no writer here has. */
const FROM_GDAL = ['u8-jpeg-ycbcr-tiles.tif', 'f32-lerc-holes.tif', 'f64-lerc-zstd-holes.tif'];

let shop: Workshop;
const files = new Map<string, Uint8Array>();

beforeAll(async () => {
  shop = await openWorkshop();
  const zones = collection(
    zone('a', rectangle(0, 0, 2, 2), rectangle(0.5, 0.5, 1, 1)),
    zone('b', rectangle(2, 0, 4, 3)),
  );
  const arc = [
    [0, 0],
    [2, 0],
    [2, 2],
    [0, 0],
  ];
  const transform = { scale: [0.5, 0.5], translate: [0, 0] };
  const layer = { type: 'GeometryCollection', geometries: [{ type: 'Polygon', id: 'a', arcs: [[0]] }] };
  await shop.write('zones.json', zones);
  await shop.write('topology.json', { type: 'Topology', transform, arcs: [arc, arc], objects: { layer } });
  await shop.writeRaster('raster.tif', { compression: 'deflate', nodata: 3, stripRows: 1 });
  await shop.writeRaster('floats.tif', { sample: 'f32', predictor: 'float', compression: 'deflate', bigTiff: true });
  for (const name of ['zones.json', 'topology.json', 'raster.tif', 'floats.tif']) {
    files.set(name, await readFile(shop.path(name)));
  }
  for (const name of FROM_GDAL) files.set(name, await readFile(new URL(`../fixtures/gdal/${name}`, import.meta.url)));
});
afterAll(() => shop.remove());

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
/** A change of a file at a position: bytes are set, inserted, removed or doubled. */
const change = fc.tuple(
  place,
  fc.constantFrom('set', 'insert', 'cut', 'double'),
  fc.nat(255),
  fc.integer({ min: 1, max: 40 }),
);

function changed(bytes: Uint8Array, changes: readonly [number, string, number, number][]): Uint8Array {
  return changes.reduce<Uint8Array>((all, [share, kind, value, length]) => {
    const at = Math.floor(share * all.length);
    const [before, after] = [all.subarray(0, at), all.subarray(at)];
    if (kind === 'set') return Buffer.concat([before, Uint8Array.of(value), after.subarray(1)]);
    if (kind === 'insert') return Buffer.concat([before, Uint8Array.of(value), after]);
    if (kind === 'cut') return Buffer.concat([before, after.subarray(length)]);
    return Buffer.concat([before, after.subarray(0, length), after]);
  }, bytes);
}

/** Runs the command on one damaged file and otherwise valid files. */
async function outcomeOf(option: 'zones' | 'raster', bytes: Uint8Array): Promise<number> {
  await shop.write('damaged', bytes);
  const good = option === 'zones' ? ['--raster', '@raster.tif'] : ['--zones', '@zones.json'];
  const words = [`--${option}`, '@damaged', ...good, '--edges', '0,3,9', '--format', 'json', '--backend', 'reference'];
  const { exitCode, stdout, stderr } = await shop.quadrille(['zonal', ...words, '--memory', '64MiB']);
  const lines = stderr.trimEnd().split('\n');
  if (exitCode === 0) expect(JSON.parse(stdout)).toMatchObject({ backend: 'reference' });
  else {
    expect(stdout).toBe('');
    expect(lines.at(-1)).toMatch(/^quadrille: /);
  }
  expect(stderr).not.toContain('mistake in quadrille');
  expect([0, 1, 2]).toContain(exitCode);
  return exitCode;
}

describe.each(['zones.json', 'topology.json', 'raster.tif', 'floats.tif', ...FROM_GDAL])('%s, corrupted,', (name) => {
  const option = name.endsWith('.tif') ? 'raster' : 'zones';

  test.prop([fc.array(change, { minLength: 1, maxLength: 3 })], { numRuns: caseCount(150) })(
    'ends in a result or an error message, never in a crash',
    async (changes) => {
      await outcomeOf(option, changed(files.get(name)!, changes));
    },
    60_000,
  );
});

test.prop([fc.uint8Array({ maxLength: 300 }), fc.constantFrom('zones', 'raster' as const)], { numRuns: caseCount(60) })(
  'random bytes end in exit code 2',
  async (bytes, option) => {
    expect(await outcomeOf(option as 'zones' | 'raster', bytes)).toBe(2);
  },
);
