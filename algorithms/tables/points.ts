import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import type { MaqTreeWithEdges } from '../maq-tree/index.ts';
import { aDomain, type Domain } from '../quadrants/domain.ts';
import { heldPoints, nearestStep, type Points, twoAxes } from '../queries/points.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import type { HostColumn, Validity } from './host-table.ts';
import { columnsPart, mapPart, type QuestionPart } from './part.ts';
import { columnOf } from './table.ts';

export interface PointColumnsOptions {
  /** Which points are valid (not null). Default: all. */
  readonly validity?: Validity | undefined;
}

const POINT_COLUMNS: Kind = someOptions<PointColumnsOptions>({ validity: optional(anInstance(Uint32Array)) });

/**
 * Coordinates of points as columns for {@link inPolygons}. Each coordinate is snapped to the nearest step of the
 * domain, like the vertices of polygons. A point outside the domain, or with NaN as a coordinate, is in no polygon.
 *
 * @throws {@link TableError} `tables/length` for columns of different lengths.
 * @example
 * const { x } = pointColumns({ x: [0, 90, 500], y: [0, 0, 0] }, WORLD);
 * x.values.map((step) => step / 2 ** 28); // Uint32Array [2, 3, 4]
 */
export function pointColumns(
  points: Points,
  domain: Domain,
  options: PointColumnsOptions = {},
): { readonly x: StepColumn; readonly y: StepColumn } {
  const kinds = { points: twoAxes, domain: aDomain, options: POINT_COLUMNS };
  requireArguments('pointColumns', { points, domain, options }, kinds);
  const { validity } = options;
  const { x, y } = points;
  if (x.length !== y.length) {
    throw tableError('length', 'x and y must have the same length.', {
      expected: `${x.length} of each`,
      got: y.length,
    });
  }
  return {
    x: { type: 'u32', values: stepsOf(x, domain.left, domain.size), validity },
    y: { type: 'u32', values: stepsOf(y, domain.bottom, domain.size), validity },
  };
}

/** A column of one coordinate of points, in steps of a domain. */
export type StepColumn = HostColumn & { readonly type: 'u32'; readonly values: Uint32Array };

function stepsOf(coordinates: ArrayLike<number>, from: number, size: number): Uint32Array {
  return Uint32Array.from(coordinates, (at) => nearestStep(at, from, size));
}

/**
 * Returns the part of a query that tells whether any polygon contains the point given by two columns, and the validity
 * of both columns.
 */
export function heldPart(
  table: DeviceTable,
  names: readonly [x: string, y: string],
  tree: MaqTreeWithEdges,
): { readonly holds: QuestionPart<Bool>; readonly validity: readonly (Column<'u32'> | undefined)[] } {
  const columns = names.map((name) => columnOf(table, name));
  for (const { name, kind } of columns) {
    if (kind === 'u32') continue;
    throw tableError('type', 'Coordinates of points must be given in steps of the domain.', {
      expected: 'a column of u32',
      got: `'${name}', a column of ${kind}`,
      remedy: 'Make the columns with pointColumns(points, domain).',
    });
  }
  const [x, y] = columns.map(({ words }) => words[0]) as [Column<'u32'>, Column<'u32'>];
  const held = columnsPart([heldView(tree, x, y)]);
  return { holds: mapPart('held', held, ([holds]) => holds as Bool), validity: columns.map((each) => each.validity) };
}

interface HeldView {
  readonly x: Column<'u32'>;
  readonly y: Column<'u32'>;
  readonly view: Column<'bool'>;
}

const views = new WeakMap<MaqTreeWithEdges['table'], HeldView[]>();

/**
 * The view that tests the points of two columns against a tree. Equal arguments give the same view, so that prepared
 * queries can reuse their recorded commands.
 */
function heldView(tree: MaqTreeWithEdges, x: Column<'u32'>, y: Column<'u32'>): Column<'bool'> {
  const known = views.get(tree.table) ?? [];
  const found = known.find((each) => each.x === x && each.y === y);
  if (found !== undefined) return found.view;
  const view = heldPoints(tree, { x, y });
  // Keeps only the latest views.
  views.set(tree.table, [...known.slice(1 - MAX_VIEWS), { x, y, view }]);
  return view;
}

/** Maximum number of cached views per tree. */
const MAX_VIEWS = 16;
