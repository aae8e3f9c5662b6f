import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { readZones } from '../../formats/polygons/read-zones.ts';
import { writeGeoTiff } from '../../formats/rasters/geotiff-writer.ts';
import { defaultTile, type PackedLayout } from '../../formats/rasters/packed/layout.ts';
import { nodataBits } from '../../formats/rasters/packed/metadata.ts';
import { tileEncoder } from '../../formats/rasters/packed/tile-encoder.ts';
import { packedWriter } from '../../formats/rasters/packed/writer.ts';
import { polygonRows } from './polygon-rows.ts';
import { NODATA, type Relief, reliefCopier } from './relief-copies.ts';
import type { Partition } from './table-1.ts';

/** What a thread gets when it starts. */
export interface PartitionSetup {
  readonly reliefs: readonly Relief[];
  readonly nation: string;
  readonly seed: number;
}

/** A file to write. */
export interface PartitionTask {
  readonly partition: Partition;
  readonly path: string;
  readonly isGeoTiff: boolean;
}

/** What was written. */
export interface PartitionMade {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Cells in the nation, with data or in voids of the relief. */
  readonly inside: number;
}

const { reliefs, nation, seed } = workerData as PartitionSetup;
const { zones } = await readZones(nation);

parentPort!.on('message', async (task: PartitionTask) => {
  const cells = cellsOf(task.partition);
  const partial = `${task.path}.partial`;
  const written = await (task.isGeoTiff ? writeTiff : writePacked)(task.partition, cells, partial);
  await rename(partial, task.path);
  const { name } = task.partition;
  parentPort!.postMessage({ name, path: task.path, inside: cells.inside, ...written } satisfies PartitionMade);
});

/** The cells of a partition, in bands of rows. */
interface BandCells {
  readonly inside: number;
  /** Fills a band, whose row is as wide as the partition. */
  fill(row: number, rows: number, band: Int16Array): void;
  /** Whether some cell of a rectangle is in the nation. */
  meets(row: number, rows: number, column: number, columns: number): boolean;
}

function cellsOf(partition: Partition): BandCells {
  const { width } = partition;
  const spans = polygonRows(zones.polygons, partition);
  const copy = reliefCopier(reliefs, partition, seed + partition.number);
  return {
    inside: spans.reduce(
      (all, row) => all + row.reduce((sum, column, at) => sum + (at % 2 === 0 ? -column : column), 0),
      0,
    ),
    fill(row, rows, band) {
      band.fill(NODATA, 0, rows * width);
      for (let line = 0; line < rows; line++) {
        const inRow = spans[row + line]!;
        for (let at = 0; at < inRow.length; at += 2) {
          copy(row + line, inRow[at]!, inRow[at + 1]!, band, line * width + inRow[at]!);
        }
      }
    },
    meets(row, rows, column, columns) {
      for (let line = row; line < row + rows; line++) {
        const inRow = spans[line]!;
        for (let at = 0; at < inRow.length; at += 2) {
          if (inRow[at]! < column + columns && inRow[at + 1]! > column && inRow[at]! < inRow[at + 1]!) return true;
        }
      }
      return false;
    },
  };
}

/** Writes a packed raster, one row of tiles after the other. */
async function writePacked(partition: Partition, cells: BandCells, path: string) {
  const { width, height } = partition;
  const { columns: tileColumns, rows: tileRows } = defaultTile(width, height);
  const layout: PackedLayout = { width, height, bands: 1, sample: 'i16', tileColumns, tileRows };
  const encode = tileEncoder({ sample: 'i16', tileColumns, tileRows, nodataBits: nodataBits(NODATA, 'i16') });
  const band = new Int16Array(width * tileRows);
  const words = new Uint16Array(band.buffer);
  const outside = encode({
    words: words.fill(NODATA),
    start: 0,
    stride: width,
    columns: tileColumns,
    rows: tileRows,
    mask: undefined,
  });
  const file = await open(path, 'w');
  const hash = createHash('sha256');
  const writer = packedWriter(layout, async (bytes) => {
    hash.update(bytes);
    for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten;
  });
  try {
    for (let row = 0; row < height; row += tileRows) {
      const rows = Math.min(tileRows, height - row);
      cells.fill(row, rows, band);
      for (let column = 0; column < width; column += tileColumns) {
        const columns = Math.min(tileColumns, width - column);
        const tile = { words, start: column, stride: width, columns, rows, mask: undefined };
        writer.add(cells.meets(row, rows, column, columns) ? encode(tile) : outside);
      }
      await writer.flush();
    }
    const { originX, originY, stepX, stepY, crs, geographic } = partition;
    const geoTransform = [originX, stepX, 0, originY, 0, stepY] as const;
    const bytes = await writer.end({ geoTransform, crs, geographic, bands: [{ nodata: String(NODATA) }] });
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    await file.close();
  }
}

/** Writes a GeoTIFF in tiles of 256 × 256 cells, with DEFLATE and differences along rows. */
async function writeTiff(partition: Partition, cells: BandCells, path: string) {
  const raster = {
    ...partition,
    ...({ sample: 'i16', nodata: NODATA, tile: { columns: 256, rows: 256 } } as const),
    ...({ compression: 'deflate', predictor: 'difference' } as const),
  };
  const { name, number, ...tiff } = raster;
  await writeGeoTiff(path, tiff, ({ row, rows, columns }) => {
    const band = new Int16Array(rows * columns);
    cells.fill(row, rows, band);
    return band;
  });
  const bytes = await readFile(path);
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
