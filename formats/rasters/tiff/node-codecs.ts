import { nodeInflater } from '../../bytes/inflate-on-node.ts';
import type { Codecs } from './tiff-platform.ts';

/** The decompressors on Node. */
export const nodeCodecs: Required<Codecs> = {
  ...nodeInflater,
  // @ts-expect-error: the package has no types.
  jpeg: () => import('@cornerstonejs/codec-libjpeg-turbo-8bit/decodewasmjs'),
  lerc: () => import('lerc'),
};
