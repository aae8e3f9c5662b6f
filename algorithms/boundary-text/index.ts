export {
  type BoundaryPart,
  type BoundaryTextOptions,
  type FoundBoundaries,
  parseBoundaryText,
} from './boundary-text.ts';
