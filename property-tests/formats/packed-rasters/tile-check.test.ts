import { expect } from 'vitest';
import { crc32c } from '../../../formats/rasters/packed/crc32c.ts';
import { findDamagedTile } from '../../../formats/rasters/packed/tile-check.ts';
import { packWidths } from '../../../formats/rasters/packed/widths.ts';
import type { Context } from '../../../primitives/index.ts';
import { onEveryBackend, plainBackends } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

interface Payload {
  readonly bytes: Uint8Array;
  /** Words of the widths and residuals; 0 if there are none. */
  readonly words: number;
}

const noWidths = (bytes: Uint8Array): Payload => ({ bytes, words: 0 });

/** The number of the first payload that a device finds damaged; undefined if none is. */
async function firstDamaged(
  context: Context,
  payloads: readonly Payload[],
  blocks = 1,
  change: (words: Uint32Array) => void = () => undefined,
): Promise<number | undefined> {
  const at = Uint32Array.from(payloads, () => 0);
  let end = 0;
  for (const [tile, { bytes }] of payloads.entries()) {
    at[tile] = end;
    end += Math.ceil(bytes.length / 4);
  }
  const words = new Uint32Array(end);
  const all = new Uint8Array(words.buffer);
  for (const [tile, { bytes }] of payloads.entries()) all.set(bytes, 4 * at[tile]!);
  change(words);
  const tiles = {
    ...{ at, bytes: Uint32Array.from(payloads, ({ bytes }) => bytes.length) },
    checksum: Uint32Array.from(payloads, ({ bytes }) => crc32c(bytes)),
    words: Uint32Array.from(payloads, ({ words }) => words),
  };
  const column = context.column(words);
  const found = findDamagedTile(context, column, tiles, blocks);
  const [tile] = await context.read(found);
  context.dispose({ column, found });
  return tile! < payloads.length ? tile : undefined;
}

const EVERY_LENGTH = Array.from({ length: 301 }, (_, length) =>
  Uint8Array.from({ length }, (_, at) => Math.imul(at + 1, 0x9e3779b1 ^ length) >>> 24),
);

/** Widths of which the smallest and the range are drawn first, so that they take few bits, or none. */
const someWidths = fc
  .record({ blocks: fc.integer({ min: 1, max: 80 }), least: fc.nat(36), range: fc.constantFrom(0, 0, 1, 7, 32) })
  .chain(({ blocks, least, range }) => {
    const width = fc.integer({ min: least, max: Math.min(40, least + range) });
    return fc.array(width, { minLength: blocks, maxLength: blocks });
  })
  .map((widths) => Uint8Array.from(widths));

onEveryBackend((opened, { runs }) => {
  const numRuns = scaledCount(runs, 1, 0.1);

  test('bytes of every length have the checksum that the host computes', async () => {
    expect(await firstDamaged(opened().context, EVERY_LENGTH.map(noWidths))).toBe(undefined);
  });

  const somePayloads = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 20 });
  test.prop([somePayloads, fc.option(fc.nat(), { freq: 2 })], { numRuns })(
    'a changed bit is found, and the first of several',
    async (payloads, seed) => {
      const first = (seed ?? 0) % payloads.length;
      const start = payloads.slice(0, first).reduce((sum, { length }) => sum + 4 * Math.ceil(length / 4), 0);
      const { length } = payloads[first]!;
      const found = await firstDamaged(opened().context, payloads.map(noWidths), 1, (words) => {
        const bytes = new Uint8Array(words.buffer);
        if (seed === null) return;
        bytes[start + ((seed >>> 8) % length)]! ^= 1 << (seed & 7);
        if (first + 1 < payloads.length) bytes[start + 4 * Math.ceil(length / 4)]! ^= 1;
      });
      expect(found).toBe(seed === null ? undefined : first);
    },
  );

  test.prop([someWidths, fc.constantFrom(0, 0, 1, -1)], { numRuns })(
    'widths add up to the words of a tile, and none is beyond 32',
    async (widths, off) => {
      const head = new Uint8Array(200);
      const words = packWidths(widths, head) / 4 + widths.reduce((sum, width) => sum + width, 0);
      const bytes = new Uint8Array(4 * words);
      bytes.set(head.subarray(0, bytes.length));
      const payload = { bytes, words: words + off };
      // One width of 0 takes one word; one word less says that there are no widths to check.
      const isRight = payload.words === 0 || (off === 0 && widths.every((width) => width <= 32));
      expect(await firstDamaged(opened().context, [payload], widths.length)).toBe(isRight ? undefined : 0);
    },
  );
}, plainBackends);
