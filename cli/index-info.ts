import { shortName } from '../algorithms/quoted-names.ts';
import type { MaqFile } from '../formats/results/maq-file.ts';
import { largestOf } from '../primitives/host/extremes.ts';
import { counted, grouped } from './grouped.ts';
import type { InfoOptions } from './index-arguments.ts';
import { type DrawParts, drawTo } from './index-outputs.ts';
import { sizeText } from './index-summary.ts';
import { filesAmong, type Surroundings, stageRun } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';

/** A tree that was read from a file, and the size of the file. */
export interface OpenedTree {
  readonly file: MaqFile;
  readonly bytes: number;
}

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface InfoParts extends DrawParts {
  openTree(path: string, signal: AbortSignal, memoryBytes: number): Promise<OpenedTree>;
}

/**
 * Runs `quadrille index info`: prints facts about a tree, and draws it if requested.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runIndexInfo(options: InfoOptions, parts: InfoParts, surroundings: Surroundings): Promise<void> {
  const files = filesAmong(options.plots.map(({ path }) => path));
  await using outputs = await stageRun([options.tree], files, surroundings);
  const { file, bytes } = await parts.openTree(options.tree, surroundings.signal, options.memoryBytes);
  await drawTo(options, file, parts, outputs, surroundings);
  surroundings.signal.throwIfAborted();
  await outputs.commit();
  const facts = factsOf(file, bytes);
  if (files.length === options.plots.length) {
    const told = options.json ? `${JSON.stringify(facts, null, 2)}\n` : textOf(options.tree, facts);
    await writeToStdout(surroundings.stdout, [told], surroundings.signal);
  }
  const lines = files.length === 0 ? [] : [`Wrote ${files.join(', ')}.`];
  surroundings.log.summary({ lines, fields: { ...facts, outputs: files } });
}

/** The facts about a tree that `quadrille index info` prints. */
interface TreeFacts {
  readonly bytes: number;
  readonly levels: number;
  readonly domain: MaqFile['domain'];
  readonly step: number;
  readonly sets: readonly { readonly name: string; readonly crs: string | undefined; readonly polygons: number }[];
  readonly nodes: number;
  /** Number of nodes per level, from the root to the last level with quadrants. */
  readonly nodesPerLevel: readonly number[];
  /** Number of inner nodes that are not themselves a quadrant of any polygon. */
  readonly viaNodes: number;
  readonly entries: { readonly inside: number; readonly boundary: number };
  /**
   * Number of edges of all polygons, and number of pairs of an edge and a quadrant through which the edge passes. Null
   * if the tree has no edges.
   */
  readonly edges: { readonly edges: number; readonly passages: number } | null;
  readonly bytesPerPart: Readonly<Record<'header' | 'nodes' | 'entries' | 'edges' | 'names', number>>;
  readonly checksum: 'ok';
}

const HEADER_BYTES = 80;

function factsOf({ domain, levels, sets, tree }: MaqFile, bytes: number): TreeFacts {
  const { nodes, entries } = tree;
  const nodesPerLevel = new Array<number>(tree.extent.levels + 1).fill(0);
  for (const level of nodes.level) nodesPerLevel[level]!++;
  const boundary = entries.boundary.reduce((sum, each) => sum + (each === 0 ? 0 : 1), 0);
  const { edge, ends } = 'edges' in tree ? tree.edges : { edge: [], ends: [] };
  const total = entries.boundary.length;
  const parts = {
    header: HEADER_BYTES,
    nodes: 4 * 8 * nodes.level.length,
    entries: 4 * 3 * total,
    edges: 'edges' in tree ? 4 * (3 * total + edge.length + ends.length) : 0,
  };
  const names = bytes - Object.values(parts).reduce((sum, each) => sum + each, 0);
  return {
    bytes,
    levels,
    domain,
    step: domain.size / 2 ** 30,
    sets: sets.map(({ name, crs, names }) => ({ name, crs, polygons: names.length })),
    nodes: nodes.level.length,
    nodesPerLevel: nodes.level.length === 0 ? [] : nodesPerLevel,
    viaNodes: nodes.entryCount.reduce((sum, count) => sum + (count === 0 ? 1 : 0), 0),
    entries: { inside: total - boundary, boundary },
    edges: 'edges' in tree ? { edges: ends.length / 4, passages: edge.length } : null,
    bytesPerPart: { ...parts, names },
    // A file with a wrong checksum cannot be opened, so the result is always `ok`.
    checksum: 'ok',
  };
}

function textOf(path: string, facts: TreeFacts): string {
  const { levels, domain, step, sets, nodes, nodesPerLevel, viaNodes, entries, edges, bytesPerPart, bytes } = facts;
  const number = (value: number): string => grouped(value);
  const { left, bottom, size } = domain;
  const rows: [what: string, told: string][] = [
    ['file', `${path}, ${sizeText(bytes)}, checksum ok`],
    ...sets.map(({ name, crs, polygons }, set): [string, string] => [
      set === 0 ? 'sets' : '',
      `${name}: ${counted(polygons, 'polygon')}${crs === undefined ? '' : `, ${shortName(crs)}`}`,
    ]),
    ['domain', `left ${left}, bottom ${bottom}, size ${size}; a step is ${step.toPrecision(3)}`],
    ['levels', `${levels}; the smallest quadrants are ${(size / 2 ** levels).toPrecision(3)} wide`],
    ['nodes', `${number(nodes)}, ${number(viaNodes)} of them without entries, above other nodes`],
    ...nodesPerLevel.map((count, level): [string, string] => [
      level === 0 ? '  by level' : '',
      `${level}: ${number(count)}`,
    ]),
    ['entries', `${number(entries.inside)} inside polygons, ${number(entries.boundary)} on their boundaries`],
    [
      'edges',
      edges === null
        ? 'none, so answers are not exact'
        : `${number(edges.edges)}, with ${counted(edges.passages, 'passage')}`,
    ],
    [
      'bytes',
      Object.entries(bytesPerPart)
        .map(([part, of]) => `${part} ${number(of)}`)
        .join(', '),
    ],
  ];
  const width = largestOf(rows.map(([what]) => what.length));
  return rows.map(([what, told]) => `${what.padEnd(width)}  ${told}\n`).join('');
}
