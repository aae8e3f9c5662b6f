import { resolve } from 'node:path';
import { gridKey, type RasterGrid, type RasterSource } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import { listNames, listTexts, quoteName } from '../algorithms/quoted-names.ts';
import { isWebAddress, shownAddress } from '../formats/bytes/file-error.ts';
import { expandPatterns } from '../formats/bytes/file-patterns.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import { sharesOf } from './memory.ts';
import type { ChosenBands } from './values.ts';

/** A raster band, with notes on what was ignored or unusual in the file. */
export interface OpenedRaster extends RasterSource {
  /** Number of bands of the file. Default 1. */
  readonly bands?: number | undefined;
  readonly notes: readonly Note[];
  /** What a server says of the version of the file. */
  readonly version?: string | undefined;
}

/** A raster with the path that the user gave. */
export interface NamedRaster {
  readonly path: string;
  readonly band: number;
  readonly raster: OpenedRaster;
}

/** How rasters are read. */
export interface RasterOptions {
  readonly band: number;
  readonly nodata: number | bigint | undefined;
  readonly mask: 'all' | 'none';
  readonly raw: boolean;
  /** Maximum width and height of cells, in cells of the raster, if overviews may be read. */
  readonly approximate?: number | undefined;
}

/**
 * Maximum decoded bytes of a block of a raster, of a memory limit. Every block is decoded as a whole, so it must fit in
 * memory.
 */
export function maxBlockBytes(memoryBytes: number): number {
  return Math.min(MAX_BLOCK_BYTES, sharesOf(memoryBytes).record);
}

const MAX_BLOCK_BYTES = 2 ** 29;

/** The rasters that a command counts. */
export interface NamedFiles {
  /** Each once, in the order of their first mention, as outputs and messages name it. */
  readonly paths: readonly string[];
  /** Those that were named again. */
  readonly again: readonly string[];
  /** What opens a raster: its path or, with everything that outputs and messages do not show, its address. */
  sourceOf(path: string): string;
}

/** The files of the option `--raster`. */
export async function rasterFiles(patterns: readonly string[]): Promise<NamedFiles> {
  const first = new Map<string, string>();
  const sources = new Map<string, string>();
  const again: string[] = [];
  for (const source of await expandPatterns(patterns, '--raster')) {
    const isAddress = isWebAddress(source);
    const file = isAddress ? source : resolve(source);
    const known = first.get(file);
    const path = known ?? (isAddress ? freeName(shownAddress(source), sources) : source);
    if (known !== undefined) again.push(isAddress ? known : source);
    first.set(file, path);
    sources.set(path, source);
  }
  return { paths: [...new Set(first.values())], again, sourceOf: (path) => sources.get(path) ?? path };
}

/** Two addresses that differ only in what is not shown of them get numbers. */
function freeName(name: string, taken: ReadonlyMap<string, string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name} (${number})`;
  return free;
}

/** The note `zonal/raster-again`, for rasters that are named more than once. Each is counted once. */
export function againNotes(again: readonly string[]): Note[] {
  if (again.length === 0) return [];
  const many = again.length === 1 ? '1 raster is' : `${again.length} rasters are`;
  const message = `${many} named again, and counted once, where first named: ${listNames(again, SHOWN)}.`;
  return [{ code: 'zonal/raster-again', message, count: again.length }];
}

/** The note `zonal/other-grids`, for rasters that are not on the grid of the first, so that zones are placed anew for them. */
export function gridNotes(rasters: readonly { readonly path: string; readonly raster: RasterGrid }[]): Note[] {
  const first = rasters[0]!;
  const others = rasters.filter(({ raster }) => gridKey(raster) !== gridKey(first.raster));
  if (others.length === 0) return [];
  const names = listNames(
    others.map(({ path }) => path),
    SHOWN,
  );
  const many = others.length === 1 ? '1 raster is' : `${others.length} of ${rasters.length} rasters are`;
  const message = `${many} on another grid than ${listNames([first.path], 1)}, so zones were placed anew there: ${names}.`;
  return [{ code: 'zonal/other-grids', message, count: others.length }];
}

const SHOWN = 3;

/** Number of rasters whose files stay open until they are counted. Others are opened again, as files are limited. */
const MAX_OPEN = 128;

/**
 * Opens all rasters, so that one that cannot be read is found before any is counted. Closes those that were opened if one
 * fails.
 */
export async function openRasters(
  paths: readonly string[],
  chosen: ChosenBands,
  open: (path: string, band: number) => Promise<OpenedRaster>,
): Promise<NamedRaster[]> {
  const opened: NamedRaster[] = [];
  const isOne = paths.length === 1 && chosen.length === 1;
  try {
    for (const path of paths) {
      let bands: readonly number[] = chosen === 'all' ? [1] : chosen;
      for (let at = 0; at < bands.length; at++) {
        const band = bands[at]!;
        const raster = await open(path, band);
        if (chosen === 'all' && at === 0) bands = Array.from({ length: raster.bands ?? 1 }, (_, before) => before + 1);
        opened.push({ path, band, raster: isOne ? raster : reopening(raster, () => open(path, band)) });
        if (at > 0 && opened.at(-2)!.raster.version !== raster.version) throw changed(raster.file);
        if (paths.length > MAX_OPEN || at >= MAX_OPEN) await opened.at(-1)!.raster.close();
      }
    }
    return opened;
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

export async function closeAll(rasters: readonly NamedRaster[]): Promise<void> {
  for (const { raster } of rasters) await raster.close();
}

/** A raster that opens its file again when it is read after it has been closed. */
function reopening(raster: OpenedRaster, open: () => Promise<OpenedRaster>): OpenedRaster {
  let current: Promise<OpenedRaster> | undefined = Promise.resolve(raster);
  /** The open raster, if it is open. */
  let settled: OpenedRaster | undefined = raster;
  const opened = async (): Promise<OpenedRaster> => {
    current ??= open().then((again) => unchanged(raster, again));
    settled = await current;
    return settled;
  };
  const methods = Object.entries(raster).filter(([, member]) => typeof member === 'function');
  const calls = methods.map(([name]) => {
    const call = async (...args: readonly unknown[]): Promise<unknown> => {
      const source = (await opened()) as unknown as Record<string, (...all: readonly unknown[]) => unknown>;
      return source[name]!(...args);
    };
    return [name, call];
  });
  return {
    ...raster,
    ...Object.fromEntries(calls),
    ...(raster.prefetch && {
      prefetch: (window, isWanted) => settled?.prefetch?.(window, isWanted) ?? false,
    }),
    ...(raster.reuse && { reuse: (cells) => void current?.then((source) => source.reuse?.(cells)) }),
    async close() {
      const last = current;
      current = settled = undefined;
      await last?.then(
        (source) => source.close(),
        () => undefined,
      );
    },
  };
}

async function unchanged(before: OpenedRaster, again: OpenedRaster): Promise<OpenedRaster> {
  if (factsOf(before) === factsOf(again)) return again;
  await again.close();
  throw changed(before.file);
}

function changed(file: string | undefined): FormatError {
  return new FormatError('format/changed', 'The raster was changed while others were counted.', {
    remedy: 'Run the command again when nothing writes to the file.',
    place: { file },
  });
}

function factsOf({ notes, ...raster }: OpenedRaster): string {
  return JSON.stringify(raster);
}

/** Notes on a raster, or on one band of it. */
export interface RasterNotes {
  readonly path: string;
  readonly band?: number;
  readonly notes: readonly Note[];
}

/** Notes on rasters, in which a note that several have stands once, with their names, and with the bands that have it. */
export function notesOnRasters(found: readonly RasterNotes[]): Note[] {
  if (found.length === 1) return [...found[0]!.notes];
  const opened = bandsByPath(found);
  const same = new Map<string, { readonly note: Note; readonly of: RasterNotes[] }>();
  for (const each of found) {
    for (const note of each.notes) {
      const key = `${note.code} ${note.message}`;
      const others = same.get(key)?.of ?? [];
      if (others.length === 0) same.set(key, { note, of: others });
      others.push(each);
    }
  }
  return [...same.values()].map(({ note, of }) => {
    const noted = bandsByPath(of);
    const names = Array.from(noted, ([path, bands]) => {
      if (bands.size === opened.get(path)!.size) return quoteName(path);
      return `${quoteName(path)}, ${bands.size === 1 ? 'band' : 'bands'} ${[...bands].join(', ')}`;
    });
    const isAll = of.length === found.length && noted.size > 1;
    return { ...note, message: `${isAll ? `All ${noted.size} rasters` : listTexts(names, SHOWN)}: ${note.message}` };
  });
}

function bandsByPath(found: readonly RasterNotes[]): Map<string, Set<number>> {
  const bands = new Map<string, Set<number>>();
  for (const { path, band = 1 } of found) bands.set(path, (bands.get(path) ?? new Set()).add(band));
  return bands;
}
