/**
 * BQ-trees: the bit planes of raster tiles as quadtrees, which take less room than the cells where planes are uniform.
 *
 * @packageDocumentation
 */

export { type BqTreeTiles, decodeBqTrees } from './decode.ts';
export { encodeBqTrees } from './encode.ts';
export type { BqTreeOptions, BqTrees, CellFormat } from './layout.ts';
