const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * 0xedb88320);
  return crc;
});

/** The CRC-32 of bytes, as in ZIP and PNG, where Node's own is not at hand. */
export function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ TABLE[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}
