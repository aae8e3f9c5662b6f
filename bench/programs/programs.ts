import { boxFilter } from './box-filter.ts';
import { clusters } from './clusters.ts';
import { components } from './components.ts';
import { edges } from './edges.ts';
import { flow } from './flow.ts';
import { hexagons } from './hexagons.ts';
import { nearest } from './nearest.ts';
import { pointsInCounties } from './points-in-counties.ts';
import type { BenchProgram } from './program.ts';
import { viewshed } from './viewshed.ts';

export const PROGRAMS: readonly BenchProgram[] = [
  boxFilter,
  clusters,
  components,
  edges,
  flow,
  hexagons,
  nearest,
  pointsInCounties,
  viewshed,
];
