/** Makes the errors for compressed data that are not decoded. Whoever decodes them knows their place. */
export interface CodecFaults {
  damaged(reason: string, cause?: unknown): Error;
  unsupported(got: string): Error;
}
