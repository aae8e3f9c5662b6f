import { expect, test } from 'vitest';
import { array, f32, fn, tileHistograms, u32 } from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { tileHistogramsLaws } from '../laws/tile-histograms.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

// The reference has no kernel, and that of WebGPU takes some shapes only: both put the derived form to the law.
testLaws(tileHistogramsLaws);

test('refuses functors, offsets and tiles of another shape', () => {
  const context = openReference();
  const [one, two] = [context.column(Uint32Array.of(0)), context.column(Uint32Array.of(0, 1))];
  const parts = { offsets: two, histogram: one, word: one, pitch: one, masks: one };
  const shape = { columns: 32, rows: 2, as: 'u16', bins: 1, histograms: 1 } as const;
  const binOf = fn({ cell: u32 }, u32, ({ cell }) => cell);
  const count = (functor: Parameters<typeof tileHistograms>[3], changed: object, options: object = {}) =>
    tileHistograms(one, { start: one, first: one }, { ...parts, ...changed }, functor, { ...shape, ...options });
  const refused = (code: string, call: () => unknown): void => expectRefusal(context, code, call);
  refused('histogram/result', () =>
    count(
      fn({ cell: u32 }, f32, ({ cell }) => f32(cell)),
      {},
    ),
  );
  refused('rows/type', () =>
    count(
      fn({ cell: f32 }, u32, ({ cell }) => u32(cell)),
      {},
    ),
  );
  refused('rows/field', () =>
    count(
      fn({ cell: u32, x: u32 }, u32, ({ cell, x }) => cell.add(x)),
      {},
    ),
  );
  refused('map/argument', () =>
    count(
      fn({ cell: u32, t: array(u32) }, u32, ({ cell, t }) => t.at(cell)),
      {},
    ),
  );
  refused('column/length', () => count(binOf, { offsets: one }));
  refused('column/length', () => count(binOf, { pitch: two }));
  refused('column/length', () => count(binOf, {}, { hidden: { bits: one, word: two, pitch: 1, bin: 0 } }));
  refused('argument/type', () => count(binOf, {}, { columns: 48 }));
  refused('argument/type', () => count(binOf, {}, { columns: 2 ** 12, rows: 17 }));
  refused('histogram/size', () => count(binOf, {}, { bins: 0 }));
  expect(count(binOf, {}).length).toBe(1);
});
