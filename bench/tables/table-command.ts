import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { printHead } from '../shared/markdown-table.ts';
import { machine, median } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { type Run, timed } from '../shared/timed-process.ts';

/**
 * Times the whole command `quadrille table`, including the start of its process, and the same query by DuckDB's Node
 * package. Every run is a separate process with two threads. Prints medians of wall-clock and processor seconds, and
 * whether the two answers are equal. Needs /usr/bin/time.
 *
 * npm run build && npm install --no-save @duckdb/node-api@1.5.6-r.1 vega-datasets@3.2.1
 * node --import tsx bench/tables/table-command.ts [--file flights.parquet] [--dist dist] [--rounds 5]
 */
const options = programOptions({
  file: join('node_modules', 'vega-datasets', 'data', 'flights-3m.parquet'),
  ...{ dist: join(import.meta.dirname, '..', '..', 'dist'), rounds: 5 },
});

interface Question {
  readonly name: string;
  readonly words: readonly string[];
  /** The equivalent SQL query, on a table `flights`. */
  readonly sql: string;
}

const QUESTIONS: readonly Question[] = [
  {
    name: 'count and sum of delays above 10',
    words: ['--where', 'delay > 10', '--aggregate', 'count, sum(delay)'],
    sql: 'select count(*), sum(delay) from flights where delay > 10',
  },
  {
    name: 'the same by origin, with averages',
    words: ['--where', 'delay > 10', '--group-by', 'origin', '--aggregate', 'count, avg(delay)'],
    sql: 'select origin, count(*), avg(delay) from flights where delay > 10 group by origin order by origin',
  },
  {
    name: 'median delay by origin',
    words: ['--group-by', 'origin', '--aggregate', 'median(delay)'],
    sql: 'select origin, median(delay) from flights group by origin order by origin',
  },
  {
    name: 'rows with delays above 300, three columns',
    words: ['--where', 'delay > 300', '--columns', 'delay,origin,destination'],
    sql: 'select delay, origin, destination from flights where delay > 300',
  },
];

function ourProgram({ words }: Question): string {
  const main = pathToFileURL(join(options.dist, 'command', 'main.js')).href;
  const args = ['table', options.file, '--quiet', '--backend', 'workers', '--workers', '2', ...words];
  return `(await import('node:v8')).setFlagsFromString('--interrupt-budget=600000');
const { main } = await import(${JSON.stringify(main)});
process.exitCode = await main(${JSON.stringify(args)}, '0');`;
}

/** Source text of a program that queries DuckDB and writes the rows as CSV after an empty line in place of a header. */
function theirProgram({ sql }: Question): string {
  const file = options.file.replaceAll("'", "''");
  const entry = pathToFileURL(createRequire(join(process.cwd(), 'package.json')).resolve('@duckdb/node-api')).href;
  return `const { DuckDBInstance } = await import(${JSON.stringify(entry)}).then((all) => all.default ?? all);
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
const found = await connection.runAndReadAll(${JSON.stringify(sql.replace('from flights', `from '${file}'`))});
process.stdout.write(['', ...found.getRows().map((row) => row.map(String).join())].join('\\n') + '\\n');`;
}

function measure(program: string): Run {
  return timed(process.execPath, ['--input-type=module', '-e', program], { NODE_OPTIONS: '' });
}

/** The lines of an answer, without its header. */
function linesOf({ stdout }: Run): string[] {
  return stdout.trimEnd().split('\n').slice(1);
}

/** Whether two answers are equal. Numbers are compared by value, because 2.50 may be written in several ways. */
function isSame(ours: readonly string[], theirs: readonly string[]): boolean {
  if (ours.length !== theirs.length) return false;
  return ours.every((line, i) => {
    const [a, b] = [line.split(','), theirs[i]!.split(',')];
    return a.every(
      (cell, k) => cell === b[k] || Math.abs(Number(cell) / Number(b[k]) - 1) < 1e-12 || Number(cell) === Number(b[k]),
    );
  });
}

if (!existsSync(join(options.dist, 'command', 'main.js'))) throw new Error('There is no build: npm run build');
console.log(machine());
printHead('query | ours: s (processor s) | DuckDB: s (processor s) | ours ÷ DuckDB (processor) | answers');
for (const question of QUESTIONS) {
  const [ours, theirs]: [Run[], Run[]] = [[], []];
  for (let round = 0; round <= options.rounds; round++) {
    // The first round is not counted, because it brings the files into the page cache.
    const both = [measure(ourProgram(question)), measure(theirProgram(question))] as const;
    if (round === 0) continue;
    ours.push(both[0]);
    theirs.push(both[1]);
  }
  const [[a, p], [b, q]] = [ours, theirs].map((all) => [
    median(all.map(({ seconds }) => seconds)),
    median(all.map(({ cpuSeconds }) => cpuSeconds)),
  ]) as [[number, number], [number, number]];
  const answers = isSame(linesOf(ours[0]!), linesOf(theirs[0]!)) ? 'equal' : 'DIFFERENT';
  const cells = [
    `${a.toFixed(2)} (${p.toFixed(2)})`,
    `${b.toFixed(2)} (${q.toFixed(2)})`,
    `${(a / b).toFixed(1)} (${(p / q).toFixed(1)})`,
  ];
  console.log(`| ${[question.name, ...cells, answers].join(' | ')} |`);
}
