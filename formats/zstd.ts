/**
 * A function that decompresses bytes. `length` is the decompressed length, or more. If the bytes are damaged, or decompress
 * to more, it returns fewer than `length` bytes or throws.
 */
export type Unpack = (bytes: Uint8Array, length: number) => Uint8Array;

/** Maximum bytes, packed and unpacked. The limit is needed, because the decoder does not notice when it runs out of memory. */
const MAX_BYTES = 2 ** 29;

let loading: Promise<Unpack> | undefined;

/** Loads the decoder of Zstandard once, when it is first needed. */
export function loadZstd(): Promise<Unpack> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Unpack> {
  const { ZSTDDecoder } = await import('zstddec');
  const decoder = new ZSTDDecoder();
  await decoder.init();
  return (bytes, length) => {
    if (bytes.length + length > MAX_BYTES) throw new RangeError(`${bytes.length} bytes would unpack to ${length}`);
    return length === 0 ? bytes.subarray(0, 0) : decoder.decode(bytes, length);
  };
}
