import { CODEC, MASK, MASK_OVER_CELLS } from './directory.ts';
import { sampleBits } from './layout.ts';
import { encodeMask } from './masks.ts';
import { packBlocks } from './residuals.ts';
import { type SeenTile, type TileCells, type TileCoding, tileScanner } from './tile-scan.ts';
import { maxWidthBytes, packWidths } from './widths.ts';

/** A tile as it is stored. */
export interface EncodedTile {
  readonly codec: number;
  readonly mask: number;
  readonly maskBytes: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly first: number;
  /** Valid until the next tile is encoded. */
  readonly payload: Uint8Array;
}

/** How tiles are stored unless they are constant or smaller as they are: `auto` takes the smaller of the two others. */
export type PackedCodec = 'residuals' | 'bq' | 'auto';

/**
 * Returns a function that encodes tiles as the smallest of constant, raw and what the codec says. Unless it says
 * residuals, the function is given the BQ-trees of each tile.
 */
export function tileEncoder(
  coding: TileCoding,
  codec: PackedCodec = 'residuals',
): (cells: TileCells, trees?: Uint8Array) => EncodedTile {
  const { sample, tileColumns, tileRows, nodataBits } = coding;
  const size = tileColumns * tileRows;
  const bits = sampleBits(sample);
  const { scan, hidden, residuals, widths } = tileScanner(coding);
  const bytes = new Uint8Array(maxWidthBytes(widths.length) + 4 * size + (size >> 3));
  const words = new Int32Array(bytes.buffer, 0, bytes.length >> 2);

  /** Writes the mask after `dataBytes` of cells. */
  const close = (seen: SeenTile, codec: number, dataBytes: number, cells: number, hasMask = true): EncodedTile => {
    const { first, minimum, maximum, withoutData, isKept } = seen;
    const over = isKept ? MASK_OVER_CELLS : 0;
    const whole = { kind: withoutData === 0 ? MASK.all : MASK.none, bytes: 0 };
    const isWhole = withoutData === 0 || withoutData === cells;
    const mask = isWhole ? whole : hasMask ? encodeMask(hidden, cells, bytes, dataBytes) : RAW_MASK;
    const payload = bytes.subarray(0, dataBytes + mask.bytes);
    return { codec, mask: mask.kind | over, maskBytes: mask.bytes, minimum, maximum, first, payload };
  };

  return (cells, trees) => {
    const count = cells.columns * cells.rows;
    const seen = scan(cells);
    if (seen.withoutData === count && !seen.isKept) return close(seen, CODEC.constant, 0, count);
    if (widths.every((width) => width === 0)) return close(seen, CODEC.constant, 0, count);
    const dataBytes = 4 * packBlocks(residuals, widths, words, packWidths(widths, bytes) >> 2);
    const tile = close(seen, CODEC.residuals, dataBytes, count);
    const rawBytes = (count * bits) / 8;
    const needsMask = nodataBits === undefined || seen.isKept;
    const largest = rawBytes + (needsMask ? tile.maskBytes : 0);
    const isWorse = codec === 'bq' || tile.payload.length > largest;
    const limit = isWorse ? largest : tile.payload.length - 1;
    if (trees !== undefined && trees.length + tile.maskBytes <= limit) {
      bytes.set(trees);
      return close(seen, CODEC.bqTree, trees.length, count);
    }
    if (!isWorse) return tile;
    copyRaw(cells, bytes);
    return close(seen, CODEC.raw, rawBytes, count, needsMask);
  };
}

/** Where stored cells tell by the nodata value which of them have no data. */
const RAW_MASK = { kind: MASK.nodata, bytes: 0 };

function copyRaw({ words, start, stride, columns, rows }: TileCells, bytes: Uint8Array): void {
  const size = words.BYTES_PER_ELEMENT;
  for (let row = 0; row < rows; row++) {
    const from = words.byteOffset + (start + row * stride) * size;
    bytes.set(new Uint8Array(words.buffer, from, columns * size), row * columns * size);
  }
}
