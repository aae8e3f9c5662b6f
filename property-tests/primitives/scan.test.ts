import { expect, test } from 'vitest';
import { bool, inclusiveScan, input, plus, segmentedScan, u32, uniform } from '../../primitives/index.ts';
import { onEveryBackend, testLaws } from '../backends.ts';
import { scanLaws } from '../laws/scan.ts';

testLaws(scanLaws);

onEveryBackend((opened) => {
  test('a prepared scan takes its initial value from each call', async () => {
    const { context } = opened();
    const declared = { rows: input({ x: u32, heads: bool }, 3), initial: uniform(u32) };
    const scanned = context.prepare(declared, ({ rows: { x, heads }, initial }) => ({
      right: inclusiveScan(x, plus(u32), { initial, reverse: true }),
      segments: segmentedScan(x, heads, plus(u32), { initial, kind: 'exclusive' }),
    }));
    const rows = { x: context.column(Uint32Array.of(1, 2, 3)), heads: context.column([true, false, true]) };
    for (const initial of [10, 2 ** 32 - 1]) {
      const sum = (...terms: number[]): Uint32Array => Uint32Array.of(...terms.map((term) => term + initial));
      expect(await context.read(scanned({ rows, initial }))).toEqual({
        right: sum(6, 5, 3),
        segments: sum(0, 1, 0),
      });
    }
  });
});
