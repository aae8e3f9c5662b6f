import { execFile } from 'node:child_process';
import { open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPolygonLayer } from '../../../formats/polygons/open-polygon-layer.ts';
import { openLayer } from '../../../formats/polygons/read-layer.ts';
import { someOf } from '../../cases.ts';
import { bytesOf, memoryInput, readBytes } from '../../support/polygon-layers-support.ts';

const file = (name: string) => join(tmpdir(), `quadrille-layer-${process.pid}-${name}`);
const MEGABYTES = 140;

/** A GeoJSON feature of about two kilobytes; each index has its own position. */
const featureAt = (index: number): string => {
  const [x, y] = [(index % 300) - 150, (index % 140) - 70];
  const ring = Array.from({ length: 90 }, (_, step) => {
    const angle = (2 * Math.PI * (step % 89)) / 89;
    return [(x + Math.cos(angle)).toFixed(7), (y + Math.sin(angle)).toFixed(7)].join(',');
  });
  return `{"type":"Feature","properties":{"name":"n${index}"},"geometry":{"type":"Polygon","coordinates":[[[${ring.join('],[')}]]]}}`;
};

/** Writes features until the file has at least `MEGABYTES` megabytes. Returns the number of features. */
async function writeLarge(path: string, head: string, separator: string, tail: string): Promise<number> {
  const features = Array.from({ length: 500 }, (_, index) => featureAt(index));
  const piece = Buffer.from(features.join(separator));
  const times = Math.ceil((MEGABYTES * 1e6) / piece.length);
  await using handle = await open(path, 'w');
  await handle.write(head);
  for (let time = 0; time < times; time++)
    await handle.write(time === 0 ? piece : Buffer.concat([Buffer.from(separator), piece]));
  await handle.write(tail);
  return times * features.length;
}

/**
 * Reads a file in a separate process. Returns the numbers of polygons and vertices, and by how many megabytes the
 * memory of the process grew.
 */
async function readApart(path: string): Promise<{ polygons: number; vertices: number; grown: number }> {
  const reader = new URL('../../../formats/polygons/open-polygon-layer.ts', import.meta.url).href;
  const program = `
    import { openPolygonLayer } from ${JSON.stringify(reader)};
    const layer = await openPolygonLayer(${JSON.stringify(path)});
    const before = process.resourceUsage().maxRSS;
    let [polygons, vertices] = [0, 0];
    for await (const { zones } of layer.batches()) {
      polygons += zones.names.length;
      vertices += zones.polygons.x.length;
    }
    const grown = (process.resourceUsage().maxRSS - before) / 1024;
    console.log(JSON.stringify({ polygons, vertices, grown }));`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program]);
  return JSON.parse(stdout);
}

describe('a file of more than a hundred megabytes', () => {
  const formats = [
    ['lines.ndjson', '', '\n', '\n'],
    ['line.geojson', '{"type":"FeatureCollection","features":[', ',', ']}'],
  ] as const;
  const files: Record<string, number> = {};
  beforeAll(async () => {
    for (const [name, head, separator, tail] of someOf(formats, 1))
      files[file(name)] = await writeLarge(file(name), head, separator, tail);
  });
  afterAll(() => Promise.all(Object.keys(files).map((path) => rm(path, { force: true }))));

  test('is read with no more memory than its batches', async () => {
    for (const [path, polygons] of Object.entries(files)) {
      const read = await readApart(path);
      expect([read.polygons, read.vertices]).toEqual([polygons, 89 * polygons]);
      // A batch takes 16 MB. Its columns grow by doubling, and outgrown arrays wait for garbage collection. In
      // contrast, the text and numbers of the whole file would take 240 MB.
      expect(read.grown).toBeLessThan(MEGABYTES);
    }
  });
});

describe('the batches of a layer', () => {
  const ring = (vertices: number, x: number) => {
    // Repeating a text is much faster than joining the texts of a million vertices.
    const steps = Array.from({ length: 997 }, (_, step) => `[${x + step},0],`);
    const along =
      steps.join('').repeat(Math.floor((vertices - 1) / 997)) + steps.slice(0, (vertices - 1) % 997).join('');
    return `[[${along}[${x},9],[${x},0]]]`;
  };
  const text = (sizes: readonly number[]) => {
    const polygons = sizes.map(
      (size, at) => `{"type":"Feature","id":"p${at}","geometry":{"type":"Polygon","coordinates":${ring(size, at)}}}`,
    );
    return `{"type":"FeatureCollection","features":[${polygons.join(',')}]}`;
  };

  test('have about a million vertices each, and together equal the whole', async () => {
    const sizes = [700_000, 300_000, 60_000, 5, 1_100_000, 4];
    const bytes = bytesOf(text(sizes));
    const layer = await openLayer(memoryInput(bytes, [500_000]), {});
    const { zones: whole } = await readBytes(bytes);
    expect(whole.names).toEqual(['p0', 'p1', 'p2', 'p3', 'p4', 'p5']);
    // Every call reads the layer from its start.
    for await (const { zones } of layer.batches()) {
      expect(zones.names).toEqual(['p0', 'p1', 'p2']);
      break;
    }
    const read: [number, number][] = [];
    const [names, x]: [string[], Float64Array[]] = [[], []];
    let bytesRead = 0;
    for await (const { zones, ...batch } of layer.batches()) {
      read.push([zones.names.length, zones.polygons.x.length]);
      names.push(...zones.names);
      x.push(zones.polygons.x);
      expect(batch.bytesRead).toBeGreaterThan(bytesRead);
      bytesRead = batch.bytesRead;
    }
    expect(read).toEqual([
      [3, 1_060_000],
      [2, 1_100_005],
      [1, 4],
    ]);
    expect([names, bytesRead]).toEqual([whole.names, bytes.length]);
    expect(Buffer.concat(x.map(asBytes)).equals(asBytes(whole.polygons.x))).toBe(true);
  });

  test('close the file when the caller stops early or aborts', async () => {
    const path = file('let-go.geojson');
    await writeFile(path, text(Array.from({ length: 15 }, () => 100_000)));
    const layer = await openPolygonLayer(path);
    const before = process.getActiveResourcesInfo().length;
    for await (const { zones } of layer.batches()) {
      expect(zones.names.length).toBe(11);
      break;
    }
    const controller = new AbortController();
    const stopped = (async () => {
      for await (const _ of layer.batches(controller.signal)) controller.abort(new Error('enough'));
    })();
    await expect(stopped).rejects.toThrow('enough');
    await expect(readAll(layer.batches(AbortSignal.abort(new Error('never'))))).rejects.toThrow('never');
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before);
    await rm(path);
    await expect(readAll(layer.batches())).rejects.toMatchObject({
      code: 'format/missing-file',
      place: { file: path },
    });
  });

  test('yield to the event loop while a large file is read', async () => {
    const path = file('shared.geojson');
    await writeFile(path, text([1_000_000]));
    const layer = await openPolygonLayer(path);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await readAll(layer.batches());
    clearInterval(timer);
    await rm(path);
    expect(turns).toBeGreaterThan(5);
  });

  const asBytes = ({ buffer, byteOffset, byteLength }: Float64Array) => Buffer.from(buffer, byteOffset, byteLength);

  const readAll = async (batches: AsyncIterable<unknown>) => {
    for await (const _ of batches);
  };
});
