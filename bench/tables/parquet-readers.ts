import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { printHead } from '../shared/markdown-table.ts';
import { machine, median } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { timed } from '../shared/timed-process.ts';

/**
 * Times two readers of the columns of a Parquet file: `openTable`, and hyparquet alone with the same ZSTD decoder. Each
 * run has a new process. Prints the median processor time of a run in seconds, including the loading of modules. Also
 * prints the sum of the first column by each reader; the two sums should be equal. Needs /usr/bin/time.
 *
 * npm run build && npm install --no-save vega-datasets@3.2.1
 * node --import tsx bench/tables/parquet-readers.ts [--file flights.parquet] [--rounds 9]
 */
const options = programOptions({
  file: join('node_modules', 'vega-datasets', 'data', 'flights-3m.parquet'),
  rounds: 9,
});

const dist = join(import.meta.dirname, '..', '..', 'dist');
const file = JSON.stringify(options.file);
const TELL = 'console.log(String(sum));';

const READERS: { readonly [name: string]: (columns: readonly string[]) => string } = {
  openTable: (columns) => `
    const { openTable } = await import(${JSON.stringify(pathToFileURL(join(dist, 'formats', 'tables', 'open-table.js')).href)});
    const table = await openTable(${file});
    let sum = 0;
    const columns = ${JSON.stringify(columns)};
    for await (const batch of table.batches({ columns })) {
      const { values } = batch.columns[columns[0]];
      const words = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
      for (let i = 0; i < words.length; i += 2) sum += words[i];
    }
    await table.close();
    ${TELL}`,
  hyparquet: (columns) => `
    const { parquetMetadataAsync, parquetRead, asyncBufferFromFile } = await import('hyparquet');
    const { ZSTDDecoder } = await import('zstddec');
    const decoder = new ZSTDDecoder();
    await decoder.init();
    const file = await asyncBufferFromFile(${file});
    const columns = ${JSON.stringify(columns)};
    const compressors = { ZSTD: (bytes, length) => decoder.decode(bytes, length) };
    let sum = 0;
    const onChunk = ({ columnName, columnData }) => {
      if (columnName === columns[0]) for (const value of columnData) sum += Number(value);
    };
    await parquetRead({ file, metadata: await parquetMetadataAsync(file), columns, compressors, onChunk });
    ${TELL}`,
};

if (!existsSync(join(dist, 'formats', 'index.js'))) throw new Error('There is no build: npm run build');
console.log(machine());
printHead('columns | reader | processor time, s | sum of first column');
for (const columns of [['delay'], ['delay', 'date', 'distance', 'origin', 'destination']]) {
  const times: { [reader: string]: number[] } = {};
  const sums: { [reader: string]: string } = {};
  for (let round = 0; round <= options.rounds; round++) {
    for (const [reader, program] of Object.entries(READERS)) {
      const { cpuSeconds, stdout } = timed(process.execPath, ['--input-type=module', '-e', program(columns)], {
        NODE_OPTIONS: '',
      });
      sums[reader] = stdout.trim();
      // The first round is not counted, because it brings the files into the page cache.
      if (round > 0) times[reader] = [...(times[reader] ?? []), cpuSeconds];
    }
  }
  for (const [reader, all] of Object.entries(times)) {
    console.log(`| ${columns.length} | ${reader} | ${median(all).toFixed(2)} | ${sums[reader]} |`);
  }
}
