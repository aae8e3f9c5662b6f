import { FormatError } from '../../primitives/checks/errors.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { unzipped, type ZipEntry, zipEntries } from '../bytes/zip.ts';
import { overMemory } from '../memory.ts';
import { closeWindow, openWindow } from './byte-window.ts';
import { chooseLayer } from './choose-layer.ts';
import { bytesInput, type LayerInput, layerBytes, platformOf } from './layer-input.ts';
import type { OpenedFormat } from './layer-reading.ts';
import type { PolygonLayerOptions } from './polygon-layer.ts';
import { SHAPEFILE } from './shapefile.ts';

/** The files of a Shapefile that are read. */
const PARTS = ['.shp', '.shx', '.dbf', '.prj', '.cpg'];

/**
 * Opens a Shapefile in a ZIP archive, in whatever folder. Of several, `options.layer` names one: by its name without an ending,
 * or by its path if several have this name. Its files are unpacked into memory, as records may be read in any order; their
 * stated sizes are compared with the memory before.
 */
export function* openZippedShapefile(input: LayerInput, { layer }: PolygonLayerOptions): Steps<OpenedFormat> {
  const { file, memoryBytes = Number.POSITIVE_INFINITY } = input;
  const entries = (yield* wait(zipEntries(layerBytes(input), memoryBytes))).filter(({ name }) => isVisible(name));
  const paths = entries
    .map(({ name }) => name)
    .filter((name) => name.toLowerCase().endsWith('.shp'))
    .map(withoutEnding);
  const counts = new Map<string, number>();
  for (const name of paths.map(nameOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = paths.map((path) => (counts.get(nameOf(path)) === 1 ? nameOf(path) : path));
  if (names.length === 0) throw noShapefile(entries, file);
  const path = paths[names.indexOf(chooseLayer(names, layer, file)!)]!;
  const parts = entries.filter(({ name }) => withoutEnding(name) === path && PARTS.includes(endingOf(name)));
  const needed = parts.reduce((sum, { size, packed }) => sum + size + packed, 0);
  if (needed > memoryBytes) throw tooLarge(needed, path, memoryBytes, file);
  const files = new Map<string, Uint8Array>();
  for (const part of parts)
    files.set(endingOf(part.name), yield* wait(unzipped(layerBytes(input), part, platformOf(input))));
  const inputOf = (ending: string): LayerInput | undefined => {
    const bytes = files.get(ending);
    return (
      bytes && { ...bytesInput(bytes, `${file}/${path}${ending}`, input.memoryBytes), platform: input.platform, beside }
    );
  };
  const beside = async (ending: string): Promise<LayerInput | undefined> => inputOf(ending);
  const inside = inputOf('.shp')!;
  const opened = yield* SHAPEFILE.open(inside, {});
  return {
    ...opened,
    *read(reading) {
      const window = openWindow(inside, reading.signal);
      try {
        yield* opened.read({ ...reading, input: inside, window });
      } finally {
        yield* closeWindow(window);
      }
      // The window of the archive only tells how far it has been read.
      reading.window.base = input.size;
    },
  };
}

/** Whether a file is one of the user, and not what macOS adds. */
function isVisible(name: string): boolean {
  return !name.split('/').some((part) => part === '__MACOSX' || part.startsWith('._'));
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.')).toLowerCase();
}

function withoutEnding(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('.')));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function noShapefile(entries: readonly ZipEntry[], file: string): FormatError {
  const names = entries.map(({ name }) => JSON.stringify(name)).slice(0, 5);
  return new FormatError('format/no-shapefile', 'The ZIP archive has no Shapefile.', {
    expected: 'a file that ends in .shp',
    got: names.length === 0 ? 'no files' : names.join(', '),
    remedy: 'Unpack the archive, and name the file in it.',
    place: { file },
  });
}

function tooLarge(needed: number, path: string, allowed: number, file: string): Error {
  return overMemory('The Shapefile is too large to be unpacked into memory.', {
    needed,
    what: `the files of ${JSON.stringify(path)}`,
    allowed,
    instead: 'unpack the archive',
    place: { file },
  });
}
