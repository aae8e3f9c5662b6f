import { type Cells, isWide, type RasterSource, SAMPLE_BYTES } from '../../algorithms/geometry/raster.ts';
import { openGeoTiff } from '../../formats/rasters/geotiff.ts';
import { crc32c } from '../../formats/rasters/packed/crc32c.ts';
import { encodeBand } from '../../formats/rasters/packed/encode-band.ts';
import { defaultTile } from '../../formats/rasters/packed/layout.ts';
import { nodataBits } from '../../formats/rasters/packed/metadata.ts';
import { openPackedBand } from '../../formats/rasters/packed/reader.ts';
import { packedWriter } from '../../formats/rasters/packed/writer.ts';
import { bytesInMemory } from '../../formats/rasters/tiff/byte-source.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';
import { inTurns, median } from '../shared/measuring.ts';
import { programWords } from '../shared/program-options.ts';

/**
 * Times packed rasters on one thread, by processor time: encoding cells in memory, checksums and all; decoding them on
 * the host; and checksums alone. Prints the best and the median of some rounds.
 *
 * node --import tsx bench/rasters/packed-rasters.ts [--rounds 15] RASTER.tif…
 */
const { options, positionals } = programWords({ rounds: 15 });

for (const file of positionals) {
  const raster = await openGeoTiff(file, { mask: 'none', raw: true });
  const { width, height, sample } = raster;
  if (isWide(sample)) throw new Error(`${file} has cells of ${sample}, which packed rasters do not hold.`);
  const whole = { column: 0, row: 0, columns: width, rows: height };
  const cells = await raster.read(whole);
  await raster.close();
  const { columns, rows } = defaultTile(width, height);
  const layout = { width, height, bands: 1, sample, tileColumns: columns, tileRows: rows };
  const { readBlocks: _, ...grid } = raster;
  const inMemory: RasterSource = {
    ...grid,
    readMask: undefined,
    read: readerOf(cells, width),
  };
  const bits = nodataBits(raster.nodata, sample);
  let packed: Uint8Array = new Uint8Array();
  const encode = async (): Promise<void> => {
    const parts: Uint8Array[] = [];
    const writer = packedWriter(layout, async (bytes) => void parts.push(Uint8Array.from(bytes)));
    await encodeBand(inMemory, layout, bits, writer, { memoryBytes: 2 ** 28 });
    await writer.end({
      geoTransform: [0, 1, 0, 0, 0, -1],
      ...{ geographic: false, bands: [{ nodata: raster.nodata?.toString() }] },
    });
    packed = parts.length === 1 ? parts[0]! : new Uint8Array(Buffer.concat(parts));
  };
  const encoding = await secondsOf(encode);
  const source = await openPackedBand(bytesInMemory(packed));
  const decoding = await secondsOf(() => source.read(whole));
  const checking = await secondsOf(() => crc32c(packed));
  const size = width * height;
  console.log(
    `${file}: ${size} cells, ${packed.length} bytes, ${((8 * packed.length) / size).toFixed(2)} bits a cell of ${8 * SAMPLE_BYTES[sample]}`,
  );
  for (const [what, seconds, of] of [
    ['encode, billion cells a second', encoding, size],
    ['decode on the host, billion cells a second', decoding, size],
    ['checksums, billion bytes a second', checking, packed.length],
  ] as const) {
    console.log(
      `  ${what}: best ${(of / smallestOf(seconds) / 1e9).toFixed(3)}, median ${(of / median(seconds) / 1e9).toFixed(3)}`,
    );
  }
}

function readerOf(cells: Cells, width: number): RasterSource['read'] {
  // Windows of whole rows, as the encoder asks for here.
  return async ({ row, rows }) => cells.subarray(row * width, (row + rows) * width);
}

/** Seconds of processor time of each round. */
async function secondsOf(work: () => unknown): Promise<number[]> {
  const [took] = (await inTurns({ work }, { rounds: options.rounds, warmUps: 0 })).values();
  return took!.map(({ processor }) => processor);
}
