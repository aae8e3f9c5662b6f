/** A function that decompresses bytes. `length` is the decompressed length, which must be known. */
export type Unpack = (bytes: Uint8Array, length: number) => Uint8Array;

/** Maximum decompressed length. The limit is needed, because the decoder does not notice when it runs out of memory. */
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
    if (length > MAX_BYTES) throw new RangeError(`it would unpack to ${length} bytes`);
    return length === 0 ? bytes.subarray(0, 0) : decoder.decode(bytes, length);
  };
}
