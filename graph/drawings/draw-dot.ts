import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aGraphShape, type DrawOptions, type GraphShape, type NodeKind, someDrawOptions } from '../definition/shape.ts';
import { edgeLabel, nodeLabel } from './node-label.ts';

const SHAPES: Partial<Record<NodeKind, string>> = { source: 'house', sink: 'invhouse', reduce: 'invtrapezium' };
const COLOURS = { cpu: '#dbe7f6', gpu: '#dcefd9', either: '#efe3f5' };

/**
 * Draws a graph in the DOT language of Graphviz. The colour of a node shows its side (CPU or GPU), and the label of an
 * edge shows its capacity. If `counters` are given, the labels of nodes show the counters. Names are escaped. Equal
 * graphs give equal texts.
 *
 * @example
 * ```ts
 * const capacity = { items: 2, bytes: Infinity };
 * const node = { lanes: 1, capacity, runsOn: 'cpu' as const };
 * const dot = drawDot({
 *   name: 'copy',
 *   nodes: [{ name: 'read', kind: 'source', ...node }, { name: 'write', kind: 'sink', ...node }],
 *   edges: [{ from: 'read', to: 'write', capacity }],
 * });
 * dot.includes('"read" -> "write" [label="≤ 2"]'); // true
 * ```
 */
export function drawDot(shape: GraphShape, options: DrawOptions = {}): string {
  requireArguments('drawDot', { shape, options }, { shape: aGraphShape, options: someDrawOptions });
  const { counters = [] } = options;
  const nodes = shape.nodes.map((node) => {
    const label = nodeLabel(node, counters).map(quotable).join('\\n');
    const style = `shape=${SHAPES[node.kind] ?? 'box'}, fillcolor="${COLOURS[node.runsOn]}"`;
    return `  "${quotable(node.name)}" [label="${label}", ${style}];`;
  });
  const edges = shape.edges.map((edge) => {
    const ports = [
      edge.fromPort === undefined ? [] : [`taillabel="${quotable(edge.fromPort)}"`],
      edge.toPort === undefined ? [] : [`headlabel="${quotable(edge.toPort)}"`],
    ].flat();
    const attributes = [`label="${quotable(edgeLabel(edge))}"`, ...ports].join(', ');
    return `  "${quotable(edge.from)}" -> "${quotable(edge.to)}" [${attributes}];`;
  });
  const head = [
    `digraph "${quotable(shape.name)}" {`,
    '  rankdir=LR;',
    '  node [style="filled,rounded", fontname="sans-serif"];',
    '  edge [fontname="sans-serif"];',
  ];
  return [...head, ...nodes, ...edges, '}', ''].join('\n');
}

/**
 * Escapes a label. Graphviz reads entities in labels, so `&` is escaped. Control characters are replaced, because they
 * would end a label.
 */
function quotable(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('&', '&amp;');
  return escaped.replaceAll(/\p{Cc}/gu, ' ');
}
