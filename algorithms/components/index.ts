/**
 * For grids of cells that are set or not: their connected components.
 *
 * @packageDocumentation
 */

export { type ComponentsOptions, connectedComponents, NO_COMPONENT } from './components.ts';
