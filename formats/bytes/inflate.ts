/** Bounds on what a stream of zlib (RFC 1950) decompresses to, in bytes. */
export interface InflateBounds {
  /** What is expected. */
  readonly size: number;
  /** The maximum of a stream without bytes that nobody needs. */
  readonly most: number;
  /** The maximum of any. More is not decompressed. */
  readonly longest: number;
}

/** Decompresses streams of zlib. Bytes after a stream are ignored. Throws if it is damaged, cut off or too long. */
export interface Inflater {
  inflate(packed: Uint8Array, bounds: InflateBounds): Promise<Uint8Array>;
  inflateNow(packed: Uint8Array, bounds: InflateBounds): Uint8Array;
}
