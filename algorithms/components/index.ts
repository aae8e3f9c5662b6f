/**
 * Labels the connected components of grids whose cells are set or not.
 *
 * @packageDocumentation
 */

export { type ComponentsOptions, connectedComponents, NO_COMPONENT } from './components.ts';
