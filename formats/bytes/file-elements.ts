import { type BigIntStats, close, fstat, open, read } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requireOneOf, requireOptions, wrongArgument } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { anything, aWhole, type FieldKinds, optional } from '../../primitives/checks/kinds.ts';
import { bytesOf, STORAGES } from '../../primitives/columns/host-array.ts';
import type { Storage } from '../../primitives/contract/backend.ts';
import type { Url } from '../../primitives/host/platform-types.ts';
import type { ElementReader } from '../../primitives/index.ts';
import { fileError } from './file-error.ts';

/** Specifies which elements of a file are read. */
export interface FileElementsOptions<E extends Storage> {
  /**
   * Element type in the file. Bytes are in little-endian order. Elements of 8 and 16 bits stay packed in the memory of
   * the context, and become u32 or i32 when primitives read them.
   */
  readonly type: E;
  /** Byte offset of the first element. Default 0. */
  readonly offset?: number | undefined;
  /** Number of elements. Default: all elements up to the end of the file. */
  readonly length?: number | undefined;
}

const OPTIONS: FieldKinds<FileElementsOptions<Storage>> = {
  type: anything,
  offset: optional(aWhole(0, Number.MAX_SAFE_INTEGER)),
  length: optional(aWhole(0)),
};

/**
 * Elements of a file as a source for `context.upload`. The upload reads the elements directly into the memory of the
 * context, without an intermediate copy. A file given by its path is open only while it is read. A file given by a
 * descriptor must stay open during the upload. With the option `failover`, it must stay open as long as the uploaded
 * column is in use, because the file is read again if another backend takes over.
 *
 * @throws FormatError `format/missing-file`, `format/not-a-file` or `format/unreadable-file`; `format/short-file` if
 * the file has fewer elements than requested. The upload throws `format/changed-file` if the file was changed after
 * this call.
 *
 * @example
 * const file = join(tmpdir(), 'elements.bin');
 * await writeFile(file, Float32Array.of(1, 2, 3));
 * const context = await open({ backend: 'workers', workers: 1 });
 * const column = await context.upload(await fileElements(file, { type: 'f32', offset: 4 }));
 * const read = await context.read(column);
 * await context.close();
 * read; // Float32Array [2, 3]
 */
export async function fileElements<E extends Storage>(
  file: string | Url | number,
  options: FileElementsOptions<E>,
): Promise<ElementReader<E>> {
  const isDescriptor = Number.isInteger(file) && (file as number) >= 0;
  if (typeof file !== 'string' && !(file instanceof URL) && !isDescriptor) {
    throw wrongArgument('fileElements', 'file', file, 'a path, a URL or a file descriptor');
  }
  if (options === undefined) throw wrongArgument('fileElements', 'options', options, '{ type, … }');
  requireOptions('fileElements', OPTIONS, options);
  const { type, offset = 0 } = options;
  requireOneOf('fileElements', 'the option type', type, STORAGES);
  const shared = sharedFile(file);
  const size = await shared.use(async (_, { size }) => Number(size));
  const max = Math.max(0, Math.floor((size - offset) / bytesOf(type)));
  const { length = max } = options;
  if (length > max) throw shortFile(shared.name, offset + length * bytesOf(type), size);
  return {
    type,
    length,
    read: (into, byte) => shared.use((descriptor) => readAll(descriptor, into, offset + byte, shared.name)),
  };
}

/** A file that several concurrent reads share. The first read opens the file, and the last read closes it. */
interface SharedFile {
  readonly name: string;
  use<R>(work: (descriptor: number, stats: BigIntStats) => Promise<R>): Promise<R>;
}

const openFile = promisify(open) as (path: string, flags: string) => Promise<number>;
const closeFile = promisify(close);
const readFile = promisify(read);
const statsOf = (descriptor: number): Promise<BigIntStats> => promisify(fstat)(descriptor, { bigint: true });

function sharedFile(file: string | Url | number): SharedFile {
  const name = typeof file === 'number' ? `file descriptor ${file}` : file instanceof URL ? fileURLToPath(file) : file;
  let users = 0;
  let opened: Promise<{ readonly descriptor: number; readonly stats: BigIntStats }> | undefined;
  let first: BigIntStats | undefined;

  const openNow = async (): Promise<{ readonly descriptor: number; readonly stats: BigIntStats }> => {
    const descriptor = typeof file === 'number' ? file : await openFile(name, 'r');
    const stats = await statsOf(descriptor);
    first ??= stats;
    return { descriptor, stats };
  };

  const leave = async (): Promise<void> => {
    users--;
    if (users > 0 || opened === undefined) return;
    const last = opened;
    opened = undefined;
    const { descriptor } = await last;
    if (typeof file !== 'number') await closeFile(descriptor);
  };

  return {
    name,
    async use(work) {
      users++;
      opened ??= openNow();
      try {
        const { descriptor, stats } = await opened;
        if (stats.isDirectory()) throw Object.assign(new Error('EISDIR'), { code: 'EISDIR', syscall: 'read' });
        if (!isSame(stats, first!)) throw changedFile(name);
        return await work(descriptor, stats);
      } catch (error) {
        throw fileError(name, error);
      } finally {
        await leave().catch(() => {});
      }
    },
  };
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs;
}

async function readAll(descriptor: number, into: Uint8Array, from: number, name: string): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await readFile(descriptor, into, done, into.length - done, from + done);
    if (bytesRead === 0) throw shortFile(name, from + into.length, from + done);
    done += bytesRead;
  }
}

function shortFile(file: string, expected: number, got: number): FormatError {
  return new FormatError('format/short-file', 'The file has fewer elements than are to be read.', {
    ...{ place: { file }, expected: `at least ${expected} bytes`, got: `${got}` },
    remedy: 'Check the options offset, length and type.',
  });
}

function changedFile(file: string): FormatError {
  return new FormatError('format/changed-file', 'The file was changed since its elements were asked for.', {
    place: { file },
    remedy: 'Call fileElements again, and upload its new result.',
  });
}
