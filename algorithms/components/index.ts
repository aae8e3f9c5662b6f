/**
 * Labels the connected components of grids whose cells are set or not.
 *
 * @packageDocumentation
 */

export { type ComponentsOptions, connectedComponents } from './components.ts';
export { NO_COMPONENT } from './runs.ts';
