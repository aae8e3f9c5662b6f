import { shownName } from '../formats/bytes/file-error.ts';
import type { BandFacts, PackedFacts } from '../formats/rasters/packed/describe.ts';
import { largestOf } from '../primitives/host/extremes.ts';
import { grouped } from './grouped.ts';
import { sizeText } from './index-summary.ts';
import type { RasterInfoOptions } from './raster-arguments.ts';
import type { Surroundings } from './run-support.ts';
import { showProgress } from './shown-progress.ts';
import { writeToStdout } from './standard-output.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface RasterInfoParts {
  /** Describes a packed raster. With `onTiles`, decodes and checks its tiles too. */
  describeRaster(
    path: string,
    signal: AbortSignal,
    onTiles: ((done: number, total: number) => void) | undefined,
  ): Promise<PackedFacts>;
}

/**
 * Runs `quadrille raster info`: prints facts about a packed raster, and checks it if asked to.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runRasterInfo(
  { file, json, check }: RasterInfoOptions,
  parts: RasterInfoParts,
  { log, stdout, signal }: Surroundings,
): Promise<void> {
  const shown = showProgress(log, 'tiles', { waits: true });
  try {
    const facts = await parts.describeRaster(file, signal, check ? shown.report : undefined);
    shown.end();
    const told = { ...facts, bands: facts.bands.map(inJson), tilesChecked: check };
    const printed = json ? `${JSON.stringify(told, null, 2)}\n` : textOf(shownName(file), facts, check);
    await writeToStdout(stdout, [printed], signal);
    log.summary({ lines: [], fields: told });
  } finally {
    shown.end();
  }
}

/** JSON has no number for an infinity or NaN, for which it would give null. They are texts, as in `zonal`. */
function inJson({ minimum, maximum, ...band }: BandFacts): Record<string, unknown> {
  const value = (of: number | null) => (of === null || Number.isFinite(of) ? of : String(of));
  return { ...band, minimum: value(minimum), maximum: value(maximum) };
}

function textOf(path: string, facts: PackedFacts, isChecked: boolean): string {
  const { bytes, width, height, sample, tile, geoTransform, crs, bands, bitsPerCell } = facts;
  const checked = isChecked ? 'all checksums ok' : 'checksums of header, metadata and directory ok';
  const [x, stepX, turnX, y, turnY, stepY] = geoTransform;
  const turned = turnX === 0 && turnY === 0 ? '' : `, turned by ${turnX}, ${turnY}`;
  const rows: [what: string, told: string][] = [
    ['file', `${path}, ${sizeText(bytes)}, ${bitsPerCell.toFixed(2)} bits a cell, ${checked}`],
    ['cells', `${grouped(width)} × ${grouped(height)} of ${sample}, in tiles of ${tile.columns} × ${tile.rows}`],
    ['place', `from ${x}, ${y} in steps of ${stepX}, ${stepY}${turned}`],
    ['CRS', crs ?? 'not stated'],
    ...bands.flatMap((band, at) => bandRows(band, `band ${at + 1}`)),
  ];
  const indent = largestOf(rows.map(([what]) => what.length));
  return rows.map(([what, told]) => `${what.padEnd(indent)}  ${told}\n`).join('');
}

function bandRows(band: BandFacts, name: string): [what: string, told: string][] {
  const { minimum, maximum, nodata, scale, offset, mask, tiles } = band;
  const values = minimum === null ? 'no cell with data' : `${minimum} to ${maximum}`;
  const stated = [
    values,
    nodata === undefined ? 'no nodata value' : `nodata ${nodata}`,
    ...(scale === undefined ? [] : [`scale ${scale}`]),
    ...(offset === undefined ? [] : [`offset ${offset}`]),
    ...(mask === undefined ? [] : [mask === 'alpha' ? 'masked by an alpha band' : 'masked']),
  ];
  const kinds = Object.entries({ ...tiles, masked: 0, empty: 0 }).filter(([, count]) => count > 0);
  const holes = `${grouped(tiles.empty)} empty, ${grouped(tiles.masked)} with holes`;
  return [
    [name, stated.join(', ')],
    [
      '  tiles',
      `${kinds.map(([kind, count]) => `${grouped(count)} ${TILE_NAMES[kind] ?? kind}`).join(', ')}; ${holes}`,
    ],
  ];
}

/** Names of kinds of tiles, where they are not those of the facts. */
const TILE_NAMES: Readonly<Record<string, string>> = { residuals: 'of residuals', bqTree: 'of BQ-trees' };
