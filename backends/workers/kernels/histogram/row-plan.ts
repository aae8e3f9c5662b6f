import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { Graph, type Node } from '../../../analyses/straight-line.ts';
import type { KernelShape } from '../../commands/kernel-arguments.ts';
import { straightProgram } from '../../wasm/program-graph.ts';

/**
 * The program that bins the elements of a row, as straight-line code. All elements of a row are counted in the same
 * histogram. The rank is the position of an element in its row.
 */
export interface RowPlan {
  readonly parameters: readonly Node[];
  /** Types of the values that are computed once per row and passed to the program. */
  readonly leaves: readonly ScalarType[];
  readonly bin: Node;
  readonly histogram: Node;
  /**
   * A word whose bit r is set if the element of rank r is counted. Undefined if the program has no such word, or if
   * rows have more than 32 elements.
   */
  readonly mask: Node | undefined;
}

/**
 * Plans the counting of rows. The program must be straight-line code. The bin must depend on the rank (position in the
 * row), but the histogram must not depend on the rank. Returns undefined for other programs.
 */
export function planRow(shape: KernelShape, ranks: number): RowPlan | undefined {
  const graph = new Graph('scalars');
  const types = entryOf(shape.programs[0]!.module).parameters.map(({ type }) => type);
  const parameters = types.map((type, i) => (i === 1 ? graph.index() : graph.invariant(type, `${i}`)));
  const [bin, histogram] = straightProgram(graph, shape, 0, parameters) ?? [];
  if (bin === undefined || histogram === undefined || !bin.varying || histogram.varying) return undefined;
  const masked = ranks <= 32 ? maskOf(bin) : undefined;
  return { parameters, leaves: types.slice(2), histogram, bin: masked?.bin ?? bin, mask: masked?.mask };
}

/**
 * Matches the pattern `select(none, bin, bit of mask)`, in which an element without a set bit gets a bin that no table
 * has.
 */
function maskOf(node: Node): { readonly bin: Node; readonly mask: Node } | undefined {
  if (node.kind !== 'operation' || node.name !== 'select') return undefined;
  const [none, bin, condition] = node.operands as readonly [Node, Node, Node];
  // The literal `none` must be an invalid bin in every table.
  if (none.kind !== 'literal' || Number(none.value) < 2 ** 31 || !bin.varying) return undefined;
  const mask = wordOfBit(condition);
  return mask && { bin, mask };
}

/**
 * Matches `(word >> rank & 1) = 1` and `(word >> rank & 1) ≠ 0`, and returns the word; undefined for other conditions.
 */
function wordOfBit(condition: Node): Node | undefined {
  if (condition.kind !== 'operation') return undefined;
  const { name, operands } = condition;
  const [bit, wanted] = operands;
  if (!((name === 'eq' && isLiteral(wanted, 1)) || (name === 'ne' && isLiteral(wanted, 0)))) return undefined;
  if (bit?.kind !== 'operation' || bit.name !== 'and') return undefined;
  const shifted = bit.operands.find((operand) => !isLiteral(operand, 1));
  const one = bit.operands.find((operand) => isLiteral(operand, 1));
  if (one === undefined || shifted?.kind !== 'operation' || shifted.name !== 'shr') return undefined;
  const [word, by] = shifted.operands as readonly [Node, Node];
  return by.kind === 'index' && !word.varying && word.type === 'u32' ? word : undefined;
}

function isLiteral(node: Node | undefined, value: number): boolean {
  return node?.kind === 'literal' && node.value === value;
}
