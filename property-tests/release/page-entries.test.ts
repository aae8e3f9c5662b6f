import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import iconv from 'iconv-lite';
import type { Browser, Page } from 'playwright-core';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { zonalHistogram } from '../../algorithms/zonal/index.ts';
import {
  openGeoTiff,
  readZones,
  statisticsCsv,
  statisticsFlatGeobuf,
  statisticsGeoJson,
  zonalCsv,
} from '../../formats/index.ts';
import { open } from '../../index.ts';
import { bundleSource } from '../browser/bundle-source.ts';
import { launchChromium } from '../browser/chromium.ts';
import type { Dropped, FormatPrograms } from '../browser/formats-program.ts';
import { type Site, serve } from '../browser/site.ts';
import { entries } from '../support/entry-sources.ts';
import { bytesOf, dbaseOf, shapefileOf, type WrittenFeature, withGaps } from '../support/polygon-layers-support.ts';
import { zipOf } from '../support/zip-support.ts';

const root = join(import.meta.dirname, '..', '..');
const forPages = entries().filter(({ pageSource }) => pageSource !== undefined);

describe('entry points for pages', () => {
  test.each(forPages.map(({ name, source, pageSource }) => [name, source, pageSource!]))(
    '%s has the same exports on pages as in Node, or of formats some',
    async (name, source, pageSource) => {
      const [inNode, onPage] = await Promise.all([import(source), import(pageSource)]);
      const there = Object.keys(inNode).filter((key) => name !== './formats' || key in onPage);
      expect(Object.keys(onPage).toSorted()).toEqual(there.toSorted());
    },
  );

  test.each(['iife', 'esm'] as const)(
    'import no module of Node, and bundle with esbuild without warnings: %s',
    async (format) => {
      const { warnings, metafile } = await build({
        entryPoints: forPages.map(({ pageSource }) => pageSource!),
        bundle: true,
        write: false,
        outdir: root,
        format,
        // For this platform, bundlers reject imports of Node's modules.
        platform: 'browser',
        metafile: true,
        logLevel: 'silent',
      });
      expect(warnings).toEqual([]);
      const inputs = Object.keys(metafile.inputs);
      expect(inputs).toContain('backends/workers/page-threads.ts');
      expect(inputs).toContain('formats/rasters/tiff/open-band.ts');
      expect(inputs.filter((file) => /node-(threads|gpu|codecs|layers)|-on-node/.test(file))).toEqual([]);
    },
  );

  test('compile without the types of Node', () => {
    const file = join(root, 'tsconfig.json');
    const { config } = ts.readConfigFile(file, ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(file));
    const sources = forPages.map(({ pageSource }) => pageSource!);
    const program = ts.createProgram(sources, {
      ...options,
      types: [],
      isolatedDeclarations: false,
      declaration: false,
    });
    const said = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, '\n');
      return `${file === undefined ? '' : relative(root, file.fileName)}: ${text}`;
    });
    expect(said).toEqual([]);
    const files = program.getSourceFiles().map(({ fileName }) => relative(root, fileName));
    expect(files).toContain('backends/workers/page.ts');
    expect(files.filter((name) => name.includes('@types/node'))).toEqual([]);
  }, 180_000);
});

describe('files in Chromium', () => {
  let browser: Browser;
  let site: Site;
  let page: Page;
  const raster = 'examples/ndvi.tif';
  const counties = 'examples/counties-10m.json';
  const states = { layer: 'states', id: 'name' } as const;
  /** The states of the counties' file, in each format that pages read. */
  let files: Readonly<Record<string, readonly [files: Dropped, options: object]>>;
  let csv: string;

  const run = <N extends keyof FormatPrograms>(
    name: N,
    ...args: Parameters<FormatPrograms[N]>
  ): Promise<Awaited<ReturnType<FormatPrograms[N]>>> =>
    page.evaluate(
      ([name, args]) =>
        (globalThis as unknown as { programs: Record<string, (...all: unknown[]) => never> }).programs[name]!(...args),
      [name, args] as const,
    );

  beforeAll(async () => {
    const { zones } = await readZones(counties, states);
    await using context = await open({ backend: 'reference' });
    const opened = await openGeoTiff(raster);
    const binning = { kind: 'even', low: 0, high: 3000, width: 100 } as const;
    const histogram = await zonalHistogram(context, { zones, raster: opened, binning, statistics: true });
    await opened.close();
    csv = [...statisticsCsv(histogram), ...zonalCsv(histogram)].join('');
    const geojson = [...statisticsGeoJson(histogram, zones)].join('');
    const flatgeobuf = Buffer.concat([...statisticsFlatGeobuf(histogram, zones)]);
    const written: WrittenFeature[] = JSON.parse(geojson).features.map(
      ({ properties, geometry }: { properties: { zone: string }; geometry: { type: string; coordinates: never } }) => ({
        name: properties.zone,
        parts: geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates,
      }),
    );
    const { shp, shx } = withGaps(
      shapefileOf(written),
      [...written, 0].map(() => new Uint8Array()),
    );
    const shapefile = {
      'a.shp': shp,
      'a.shx': shx,
      'a.dbf': dbaseOf(
        'zone',
        written.map(({ name }) => name),
      ),
      'a.cpg': bytesOf('UTF-8'),
      'a.prj': bytesOf('GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]]'),
    };
    const given = (bytes: Readonly<Record<string, Uint8Array>>): Dropped =>
      Object.fromEntries(Object.entries(bytes).map(([name, each]) => [name, [...each]]));
    const id = { id: 'zone' };
    files = {
      TopoJSON: [given({ 'a.json': await readFile(counties) }), states],
      GeoJSON: [given({ 'a.geojson': bytesOf(geojson) }), id],
      'gzipped GeoJSON': [given({ 'a.geojson.gz': gzipSync(geojson) }), id],
      FlatGeobuf: [given({ 'a.fgb': flatgeobuf }), id],
      Shapefile: [given(shapefile), id],
      'zipped Shapefile': [given({ 'a.zip': zipOf(shapefile) }), id],
    };
    site = await serve({ '/program.js': await bundleSource('formats-program.ts') });
    browser = await launchChromium();
    page = await browser.newPage();
    await page.goto(site.page({ script: '/program.js' }));
    await page.waitForFunction(() => 'programs' in globalThis);
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await site.close();
  });

  test.each(['TopoJSON', 'GeoJSON', 'gzipped GeoJSON', 'FlatGeobuf', 'Shapefile', 'zipped Shapefile'])(
    'zones in %s are read by slices, with the bytes of Node',
    async (format) => {
      const [given, options] = files[format]!;
      const { read, longest } = await run('zones', given, { ...options, attributes: 'all' });
      const [first, ...others] = Object.entries(given).map(([name, bytes]) => new File([Uint8Array.from(bytes)], name));
      const inNode = await readZones(first!, { ...options, attributes: 'all', beside: others });
      expect(inNode.zones.names.length).toBeGreaterThan(50);
      expect(read).toBe(told(inNode));
      expect(longest).toBeLessThanOrEqual(2 ** 20);
    },
    60_000,
  );

  test('a window of a GeoTIFF is read by slices, with the bytes of Node', async () => {
    const bytes = await readFile(raster);
    const { read, all } = await run('cells', { 'ndvi.tif': [...bytes] }, [0, 300, 500, 10]);
    const opened = await openGeoTiff(raster);
    const cells = await opened.read({ column: 0, row: 300, columns: 500, rows: 10 });
    const { notes, nodata, width, height, originX, crs } = opened;
    await opened.close();
    expect(read).toBe(told({ cells, notes, nodata, width, height, originX, crs }));
    expect(all).toBeLessThan(bytes.length / 2);
  });

  test.each(['workers', 'reference'] as const)(
    'the CSV of zonal statistics on %s is that of Node, byte for byte, of each format',
    async (backend) => {
      const tiff = { 'ndvi.tif': [...(await readFile(raster))] };
      for (const format of ['TopoJSON', 'FlatGeobuf', 'Shapefile']) {
        const [given, options] = files[format]!;
        expect(await run('csv', { ...tiff, ...given }, options, backend), format).toBe(csv);
      }
    },
    120_000,
  );

  test('what pages do not read is refused by a code', async () => {
    expect(await run('refused', 'a.json')).toBe('format/needs-node');
    expect(await run('refused', { 'a.parquet': [...bytesOf('PAR1')] })).toBe('format/needs-node');
    expect(await run('refused', { 'a.gpkg': [...bytesOf('SQLite format 3\0')] })).toBe('format/needs-node');
    const damaged = gzipSync('{"type":"FeatureCollection","features":[]}').fill(7, 20, 24);
    expect(await run('refused', { 'a.json.gz': [...damaged] })).toBe('format/bad-gzip');
  });

  test('code pages have the letters of Node', async () => {
    const names = ['cp1250', 'cp1251', 'cp1252', 'cp1253', 'cp1254', 'cp1256', 'cp1257', 'cp1258', 'cp866', 'cp874'];
    const others = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '13', '14', '15'].map(
      (part) => `iso8859${part}`,
    );
    const all = [...names, ...others, 'koi8r', 'ascii'];
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    expect(await run('letters', all)).toEqual(all.map((name) => iconv.decode(bytes, name, { stripBOM: false })));
  });
});

/** A text from which all arrays can be told, to the bit, as `formats-program.ts` makes it. */
function told(value: unknown): string {
  return JSON.stringify(value, (_, item) =>
    ArrayBuffer.isView(item) ? Array.from(new Uint8Array(item.buffer, item.byteOffset, item.byteLength)) : item,
  );
}
