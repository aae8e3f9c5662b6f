/**
 * Parses text files of polygon boundaries on a device: {@link parseBoundaryText}.
 *
 * @packageDocumentation
 */
export {
  type BoundaryPart,
  type BoundaryTextOptions,
  type FoundBoundaries,
  parseBoundaryText,
} from './boundary-text.ts';
