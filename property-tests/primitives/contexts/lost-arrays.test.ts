import { describe, expect } from 'vitest';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';

const kinds = [Uint32Array, Int32Array, Float32Array, Uint8Array, Int8Array, Uint16Array, Int16Array] as const;

/** `maxByteLength` and `resize` are missing from the types of this version of TypeScript's library. */
type Resizable = ArrayBuffer & { resize(bytes: number): void };
const resizable = (bytes: number): Resizable =>
  new (ArrayBuffer as unknown as new (bytes: number, options: object) => Resizable)(bytes, {
    maxByteLength: 2 * bytes,
  });

/** Takes the memory of an array away. */
const losses = fc.constantFrom('transferred', 'shrunk');
const lose = (array: { readonly buffer: ArrayBufferLike }, how: string): void => {
  if (how === 'shrunk') (array.buffer as Resizable).resize(1);
  else structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
};

describe('arrays whose buffer was transferred or shrunk are refused', () => {
  test.prop({ kind: fc.constantFrom(...kinds), rows: fc.integer({ min: 2, max: 50 }), how: losses })(
    'before a read, a read into them, a column and an upload',
    async ({ kind, rows, how }) => {
      const context = openReference();
      const column = context.column(new kind(rows));
      const lost = new kind(resizable(rows * kind.BYTES_PER_ELEMENT), 0, rows);
      lose(lost, how);
      const refusal = { name: 'ArgumentError', remedy: expect.stringContaining('copy') };
      await expect(context.read(column, { into: lost as never })).rejects.toMatchObject({
        ...refusal,
        code: 'read/into',
      });
      expect(() => context.column(lost)).toThrow(expect.objectContaining({ ...refusal, code: 'column/host-type' }));
      await expect(context.upload(lost)).rejects.toMatchObject({ ...refusal, code: 'column/host-type' });
    },
  );

  test.prop({ kind: fc.constantFrom(...kinds), rows: fc.integer({ min: 2, max: 50 }), how: losses })(
    'during a read, which would otherwise resolve with fewer rows',
    async ({ kind, rows, how }) => {
      const context = openReference();
      const into = new kind(resizable(rows * kind.BYTES_PER_ELEMENT));
      const read = context.read(context.column(new kind(rows)), { into: into as never });
      lose(into, how);
      await expect(read).rejects.toMatchObject({
        code: 'read/into',
        remedy: expect.stringContaining('Await the read'),
      });
    },
  );
});
