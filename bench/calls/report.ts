import { smallestOf } from '../../primitives/host/extremes.ts';
import { grouped } from '../shared/grouped.ts';
import type { Row } from './bench.ts';

/** Prints one Markdown table for each kind of work and timing, with a row per library and a column per size. */
export function printTables(rows: readonly Row[]): void {
  for (const group of grouped(rows, ({ what, way }) => `${what}, ${way}`)) printTable(...group);
}

/**
 * Prints medians. For transfers, the rate is printed too. For peers, the ratio to our fastest time follows in brackets.
 */
function printTable(title: string, rows: readonly Row[]): void {
  const sizes = [...new Set(rows.map(({ n }) => n))].toSorted((a, b) => a - b);
  console.log(`\n## ${title}, ms\n`);
  console.log(`| library | ${sizes.map(sizeName).join(' | ')} |\n|${' --- |'.repeat(sizes.length + 1)}`);
  for (const [library, own] of grouped(rows, ({ library }) => library)) {
    const cells = sizes.map((n) => {
      const row = own.find((each) => each.n === n);
      return row === undefined ? '' : cellOf(row, rows);
    });
    console.log(`| ${library} | ${cells.join(' | ')} |`);
  }
}

function cellOf(row: Row, rows: readonly Row[]): string {
  const { n, ms, bytes } = row;
  const rate = bytes === undefined || n === 1 ? '' : `, ${(bytes / ms / 1e6).toFixed(1)} GB/s`;
  const ours = rows.filter((each) => each.n === n && isOurs(each)).map((each) => each.ms);
  const ratio = isOurs(row) || ours.length === 0 ? '' : ` (${(ms / smallestOf(ours)).toFixed(2)})`;
  return `${ms.toFixed(ms < 10 ? 4 : 1)}${rate}${ratio}`;
}

function isOurs({ library }: Row): boolean {
  return library.startsWith('quadrille');
}

function sizeName(n: number): string {
  return `2^${Math.log2(n)}`;
}

/** One sentence for each group of measurements of the same work whose checksums differ; empty if none differ. */
export function differences(rows: readonly Row[]): string[] {
  const computed = rows.filter(({ checksum }) => checksum !== undefined);
  const groups = grouped(computed, ({ what, n, rounds }) => `${what}, n = ${n}, ${rounds ?? 'no'} rounds`);
  return [...groups].flatMap(([title, group]) => {
    if (new Set(group.map(({ checksum }) => checksum)).size === 1) return [];
    const sums = group.map(({ library, way, checksum }) => `${library} (${way}) ${checksum}`);
    return [`${title}: checksums differ: ${sums.join(', ')}`];
  });
}
