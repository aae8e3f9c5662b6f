import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aGraphShape, type DrawOptions, type GraphShape, type NodeKind, someDrawOptions } from '../definition/shape.ts';
import { edgeLabel, nodeLabel } from './node-label.ts';

const BRACKETS: Partial<Record<NodeKind, readonly [string, string]>> = {
  source: ['([', '])'],
  sink: ['([', '])'],
  reduce: ['[/', '\\]'],
};

const CLASSES = [
  'classDef cpu fill:#dbe7f6,stroke:#3f6fa8,color:#16202c',
  'classDef gpu fill:#dcefd9,stroke:#4b8a43,color:#16202c',
  'classDef either fill:#efe3f5,stroke:#8a5aa3,color:#16202c',
];

/**
 * Draws a graph as a Mermaid flowchart, which GitHub and GitLab render in Markdown. The flowchart has the same contents
 * as a drawing by {@link drawDot}. Names are escaped, and occur only in labels. Equal graphs give equal texts.
 *
 * @example
 * ```ts
 * const capacity = { items: 2, bytes: Infinity };
 * const node = { lanes: 1, capacity, runsOn: 'cpu' as const };
 * const chart = drawMermaid({
 *   name: 'copy',
 *   nodes: [{ name: 'read', kind: 'source', ...node }, { name: 'write', kind: 'sink', ...node }],
 *   edges: [{ from: 'read', to: 'write', capacity }],
 * });
 * chart.includes('n0 -->|"≤ 2"| n1'); // true
 * ```
 */
export function drawMermaid(shape: GraphShape, options: DrawOptions = {}): string {
  requireArguments('drawMermaid', { shape, options }, { shape: aGraphShape, options: someDrawOptions });
  const { counters = [] } = options;
  const ids = new Map(shape.nodes.map(({ name }, i) => [name, `n${i}`]));
  const nodes = shape.nodes.map((node, i) => {
    const [open, close] = BRACKETS[node.kind] ?? ['[', ']'];
    const label = nodeLabel(node, counters).map(quotable).join('<br/>');
    return `  n${i}${open}"${label}"${close}:::${node.runsOn}`;
  });
  const edges = shape.edges.map((edge) => {
    const ports = [edge.fromPort, edge.toPort].map((port) => port ?? '');
    const label = [ports[0], edgeLabel(edge), ports[1]].filter((part) => part !== '').map((part) => quotable(part!));
    const arrow = label.length === 0 ? '-->' : `-->|"${label.join(' · ')}"|`;
    return `  ${ids.get(edge.from)} ${arrow} ${ids.get(edge.to)}`;
  });
  return ['flowchart LR', ...nodes, ...edges, ...CLASSES.map((line) => `  ${line}`), ''].join('\n');
}

/**
 * Escapes a label. Mermaid writes an escaped character as `#code;`. All characters with a special meaning are escaped.
 */
function quotable(text: string): string {
  const code = (character: string): string => `#${character.codePointAt(0)};`;
  return text.replaceAll(/\p{Cc}/gu, ' ').replaceAll(/["#<>&;`|\\]/g, code);
}
