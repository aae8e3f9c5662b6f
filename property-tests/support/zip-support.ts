import { crc32, deflateRawSync } from 'node:zlib';

/** How an archive is written. */
export interface ZipStyle {
  readonly method?: number;
  readonly flags?: number;
  /** Whether sizes and places are fields of ZIP64. */
  readonly long?: boolean;
  readonly comment?: string;
  /** Stated in place of the size. */
  readonly size?: number;
}

/** A ZIP archive of files by their names. */
export function zipOf(files: Readonly<Record<string, Uint8Array>>, style: ZipStyle = {}): Uint8Array {
  const { method = 8, flags = 0x800, long = false, comment = '', size: stated } = style;
  const [locals, entries]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const [path, bytes] of Object.entries(files)) {
    const packed = method === 8 ? deflateRawSync(bytes) : Buffer.from(bytes);
    const [name, size] = [Buffer.from(path), stated ?? bytes.length];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(long ? 0xffffffff : packed.length, 14);
    common.writeUInt32LE(long ? 0xffffffff : size, 18);
    common.writeUInt16LE(name.length, 22);
    const extra = Buffer.alloc(long ? 32 : 0);
    if (long) {
      // An extra field of another kind stands before.
      for (const [place, value] of [0x5455, 0, 1, 24].entries()) extra.writeUInt16LE(value, 2 * place);
      for (const [word, value] of [size, packed.length, at].entries())
        extra.writeBigUInt64LE(BigInt(value), 8 + 8 * word);
    }
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);
    common.writeUInt16LE(extra.length, 24);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(long ? 0xffffffff : at, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, place, name, extra]));
    locals.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(entries);
  const [end, end64, locator] = [Buffer.alloc(22), Buffer.alloc(long ? 56 : 0), Buffer.alloc(long ? 20 : 0)];
  const fits = (value: number, most: number): number => (long ? most : value);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(fits(entries.length, 0xffff), 10);
  end.writeUInt32LE(fits(directory.length, 0xffffffff), 12);
  end.writeUInt32LE(fits(at, 0xffffffff), 16);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  if (long) {
    end64.write('PK\x06\x06', 'latin1');
    for (const [word, value] of [entries.length, directory.length, at].entries())
      end64.writeBigUInt64LE(BigInt(value), 32 + 8 * word);
    locator.write('PK\x06\x07', 'latin1');
    locator.writeBigUInt64LE(BigInt(at + directory.length), 8);
  }
  return Uint8Array.from(Buffer.concat([...locals, directory, end64, locator, end, Buffer.from(comment)]));
}
