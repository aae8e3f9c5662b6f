/**
 * The connected components of the cells of a grid that are set.
 *
 * @module
 */

export { type ComponentsOptions, connectedComponents, NO_COMPONENT } from './components.ts';
