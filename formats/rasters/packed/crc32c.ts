/** The reversed polynomial of CRC-32C (Castagnoli). */
const POLYNOMIAL = 0x82f63b78;
/** Number of bytes that a step takes. Each has a table of its own, so that their look-ups do not wait for each other. */
const STEP = 16;

/** Row `k` holds the checksums of all single bytes that `k` zero bytes follow. */
const TABLES: Int32Array = (() => {
  const tables = new Int32Array(STEP * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * POLYNOMIAL);
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256]!;
    tables[at] = (before >>> 8) ^ tables[before & 255]!;
  }
  return tables;
})();

/**
 * The CRC-32C of bytes, as in iSCSI (RFC 3720).
 *
 * @param before - The checksum of the bytes before these, to continue it.
 */
export function crc32c(bytes: Uint8Array, before = 0): number {
  const t = TABLES;
  const { length } = bytes;
  let crc = ~before;
  let at = 0;
  if (bytes.byteOffset % 4 === 0 && IS_LITTLE) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, length >> 2);
    const whole = (length >> 4) << 2;
    for (let i = 0; i < whole; i += 4) {
      const a = words[i]! ^ crc;
      const b = words[i + 1]!;
      const c = words[i + 2]!;
      const d = words[i + 3]!;
      crc =
        t[3840 + (a & 255)]! ^
        t[3584 + ((a >>> 8) & 255)]! ^
        t[3328 + ((a >>> 16) & 255)]! ^
        t[3072 + (a >>> 24)]! ^
        t[2816 + (b & 255)]! ^
        t[2560 + ((b >>> 8) & 255)]! ^
        t[2304 + ((b >>> 16) & 255)]! ^
        t[2048 + (b >>> 24)]! ^
        t[1792 + (c & 255)]! ^
        t[1536 + ((c >>> 8) & 255)]! ^
        t[1280 + ((c >>> 16) & 255)]! ^
        t[1024 + (c >>> 24)]! ^
        t[768 + (d & 255)]! ^
        t[512 + ((d >>> 8) & 255)]! ^
        t[256 + ((d >>> 16) & 255)]! ^
        t[d >>> 24]!;
    }
    at = whole * 4;
  }
  for (; at < length; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}

const IS_LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The checksums of all single bytes that 0, 1 … `rows` − 1 zero bytes follow, 256 for each number of zero bytes. */
export function crcTable(rows: number): Uint32Array {
  return Uint32Array.from(TABLES.subarray(0, 256 * rows));
}
