import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { describe, expect } from 'vitest';
import { tarFiles } from '../../../backends/webgpu-node/tar-files.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { fc, test } from '../../law-test.ts';

const name = fc.stringMatching(/^[a-z]{1,8}(\/[a-z.]{1,8}[a-z]){0,3}$/);
const file = fc.record({ type: fc.constant('file' as const), name, bytes: fc.uint8Array({ maxLength: 1500 }) });
const folder = fc.record({ type: fc.constant('directory' as const), name, bytes: fc.constant(new Uint8Array(0)) });
type Entry =
  typeof file extends fc.Arbitrary<infer File> ? File | ({ readonly type: 'directory' } & Omit<File, 'type'>) : never;

/** Makes a tar archive with npm's tar-stream. */
async function packed(entries: readonly Entry[]): Promise<Uint8Array> {
  const archive = pack();
  for (const { type, name, bytes } of entries) archive.entry({ type, name }, Buffer.from(bytes));
  archive.finalize();
  return buffer(archive);
}

describe('tarFiles', () => {
  test.prop([fc.array(fc.oneof(file, folder), { maxLength: 6 })])(
    'returns the files that were packed',
    async (entries) => {
      const files = entries.filter(({ type }) => type === 'file').map(({ name, bytes }) => ({ name, bytes }));
      const found = [...tarFiles(await packed(entries))].map(({ name, bytes }) => ({
        name,
        bytes: Uint8Array.from(bytes),
      }));
      expect(found).toEqual(files);
    },
  );

  test.prop([file, fc.nat()])('refuses an archive that ends inside a file', async (entry, cut) => {
    const whole = await packed([entry]);
    const end = 512 + (cut % Math.max(1, entry.bytes.length));
    fc.pre(entry.bytes.length > 0);
    expect(() => [...tarFiles(whole.subarray(0, end))]).toThrow(FormatError);
  });
});
