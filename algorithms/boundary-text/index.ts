/**
 * Text of polygon boundaries read on a device: {@link parseBoundaryText}.
 *
 * @module
 */
export {
  type BoundaryPart,
  type BoundaryTextOptions,
  type FoundBoundaries,
  parseBoundaryText,
} from './boundary-text.ts';
