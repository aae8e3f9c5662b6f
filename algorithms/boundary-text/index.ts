/**
 * For readers of text files of polygon boundaries, which are parsed on the device: {@link parseBoundaryText}.
 *
 * @packageDocumentation
 */
export {
  type BoundaryPart,
  type BoundaryTextOptions,
  type FoundBoundaries,
  parseBoundaryText,
} from './boundary-text.ts';
