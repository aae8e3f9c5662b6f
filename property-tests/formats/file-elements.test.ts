import { closeSync, openSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFailoverBackend } from '../../backends/failover/index.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { fileElements } from '../../formats/index.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { caseCount } from '../cases.ts';

const bytes = Uint8Array.from({ length: 300_001 }, (_, i) => Math.imul(i, 2654435761) >>> 11);
const file = { folder: '', path: '' };

beforeAll(async () => {
  file.folder = await mkdtemp(join(tmpdir(), 'file-elements-'));
  file.path = join(file.folder, 'bytes.bin');
  await writeFile(file.path, bytes);
});
afterAll(() => rm(file.folder, { recursive: true }));

onEveryBackend((opened) => {
  test('ranges of a file are columns, by path, URL and descriptor', async () => {
    const { context } = opened();
    const descriptor = openSync(file.path, 'r');
    const width = fc.constantFrom(['u8', 1], ['i16', 2], ['u16', 2], ['u32', 4]);
    const property = fc.asyncProperty(
      ...[fc.nat(1000), fc.nat(299_001), width, fc.nat(2)],
      async (offset, max, [type, size], by) => {
        const length = Math.floor(max / (size as number));
        const options = { type: type as 'u8', offset, length };
        const from = [file.path, pathToFileURL(file.path), descriptor][by]!;
        const column = await context.upload(await fileElements(from, options));
        const range = bytes.slice(offset, offset + length * (size as number)).buffer;
        const Elements = { u8: Uint8Array, i16: Int16Array, u16: Uint16Array, u32: Uint32Array }[type as 'u8'];
        expect(Array.from(await context.read(column))).toEqual(Array.from(new Elements(range)));
        context.dispose(column);
      },
    );
    await fc.assert(property, { numRuns: caseCount(12) });
    closeSync(descriptor);
    await context.sync();
    expect(context.backend.counters.liveBuffers).toBe(0);
  });
});

test('without a length, all elements up to the end are read', async () => {
  const { type, length } = await fileElements(file.path, { type: 'u32', offset: 2 });
  expect([type, length]).toEqual(['u32', 74_999]);
});

test('files that cannot be read are refused at once', async () => {
  const code = (of: string): object => expect.objectContaining({ code: of });
  const u8 = { type: 'u8' } as const;
  await expect(fileElements(join(file.folder, 'none'), u8)).rejects.toEqual(code('format/missing-file'));
  await expect(fileElements(file.folder, u8)).rejects.toEqual(code('format/not-a-file'));
  await expect(fileElements(file.path, { ...u8, length: 300_002 })).rejects.toEqual(code('format/short-file'));
  await expect(fileElements(file.path, { ...u8, offset: 300_002, length: 1 })).rejects.toEqual(
    code('format/short-file'),
  );
});

test('a file that changed is refused, by a standby too', async () => {
  const path = join(file.folder, 'changing.bin');
  await writeFile(path, bytes);
  const primary = createReferenceBackend();
  const context = new Context(createFailoverBackend(primary, { standby: async () => createReferenceBackend() }));
  const elements = await fileElements(path, { type: 'u8' });
  const column = await context.upload(elements);
  const [first] = await context.read(column);
  expect(first).toBe(bytes[0]);
  await appendFile(path, 'more');
  await expect(context.upload(elements)).rejects.toMatchObject({ code: 'format/changed-file' });
  primary.abort(new DeviceLostError('device/test', 'Lost.'));
  await expect(context.read(column)).rejects.toMatchObject({
    ...{ code: 'upload/source-lost' },
    cause: { code: 'format/changed-file' },
  });
  await context.close();
});
