import type { Extent, Program } from '../../../../primitives/contract/backend.ts';
import { projectResults } from '../../../../primitives/ir/project.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { dispatchWord, lengthExpression } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import { lines } from '../shared/lines.ts';
import { linkSource } from '../shared/source.ts';
import { bindProgram } from '../shared/windows.ts';
import { emitClear } from '../shared/workgroup.ts';
import { DIGITS, type Digit } from '../sort/radix-rows.ts';

/**
 * The size of the sample of rows: the number of regions, the number of threads per region, and the number of adjacent
 * rows per thread.
 */
const REGIONS = 8;
const THREADS = 32;
const ROWS = 8;
/**
 * `LINE` is the log2 of the number of words per cache line. `BITS` is the number of bits of the hashed set of cache
 * lines that a region touches.
 */
const LINE = 3;
const BITS = 4096;
/**
 * The places of a region are close together if they lie in few parts of the column: at most `FEW_PARTS` parts or
 * `NEAR_WORDS` words.
 */
const NEAR_WORDS = 2 ** 21;
const FEW_PARTS = 8;

/**
 * Decides on the device whether rows are stored to scattered places (indices) of a column. Writes the number of rows to
 * `choice` if they are scattered, else 0. Rows are scattered if at least half of the sampled regions are scattered. A
 * region is not scattered if most of its places share cache lines or have equal distances. Nor is a region scattered if
 * its places lie in few parts of the column. In these cases, the stores of adjacent rows soon fill the cache lines that
 * they touch.
 */
export function judgePlaces(
  engine: Engine,
  extent: Extent,
  rows: Program,
  { shift, mask }: Digit,
  capacity: number,
  choice: Memory,
): void {
  const source = linkSource(engine, extent, { ...rows, module: projectResults(rows.module, [0]) });
  const { program, parameters, length, windows } = source;
  const bindings = createBindings(parameters);
  const places = bindProgram(program, windows[0]!, bindings);
  const out = bindings.bind(choice, 'write');
  launch(engine, {
    key: `judge places ${programKey(places)} ${out} ${length.raw}`,
    bindings,
    groups: 1,
    words: [shift, mask, capacity],
    code: (shader) => ({
      threads: REGIONS * THREADS,
      declarations: `${emitProgram(places, shader)}
var<workgroup> lines: array<atomic<u32>, ${(REGIONS * BITS) / 32}>;
var<workgroup> parts: array<atomic<u32>, ${(REGIONS * DIGITS) / 32}>;
var<workgroup> stored: array<atomic<u32>, ${REGIONS}>;
var<workgroup> alone: array<atomic<u32>, ${REGIONS}>;
var<workgroup> uneven: array<atomic<u32>, ${REGIONS}>;`,
      main: emitJudgement(lengthExpression(length), out),
    }),
  });
}

function emitJudgement(length: string, out: number): string {
  const [shift, mask, capacity] = [0, 1, 2].map(dispatchWord);
  const threads = REGIONS * THREADS;
  return `let n = ${length};
${emitClear('lines', (REGIONS * BITS) / 32, threads)}
${emitClear('parts', (REGIONS * DIGITS) / 32, threads)}
${['stored', 'alone', 'uneven'].map((counts) => emitClear(counts, REGIONS, threads)).join('\n')}
// Phase 1: sample rows.
let region = t / ${THREADS}u;
let first = (n / ${REGIONS}u) * region + (t % ${THREADS}u) * ${ROWS}u;
let last = max(n, 1u) - 1u;
${lines(ROWS + 2, (k) => `let a${k} = p_entry(min(first + ${k}u, last));`)}
${lines(
  ROWS,
  (k) => `if (first + ${k}u < n && a${k} < ${capacity}) {
  let line = ((a${k} >> ${LINE}u) * 0x9e3779b1u) >> ${32 - Math.log2(BITS)}u;
  let before = atomicOr(&lines[region * ${BITS / 32}u + (line >> 5u)], 1u << (line & 31u));
  let part = (a${k} >> ${shift}) & ${mask};
  atomicOr(&parts[region * ${DIGITS / 32}u + (part >> 5u)], 1u << (part & 31u));
  atomicAdd(&stored[region], 1u);
  if (((before >> (line & 31u)) & 1u) == 0u) { atomicAdd(&alone[region], 1u); }
  if (a${k + 2} - a${k + 1} != a${k + 1} - a${k}) { atomicAdd(&uneven[region], 1u); }
}`,
)}
workgroupBarrier();
// Phase 2: decide from the counts.
if (t == 0u) {
  var apart = 0u;
  for (var r = 0u; r < ${REGIONS}u; r++) {
    var spread = 0u;
    for (var w = 0u; w < ${DIGITS / 32}u; w++) { spread += countOneBits(atomicLoad(&parts[r * ${DIGITS / 32}u + w])); }
    let most = atomicLoad(&stored[r]) / 2u;
    let is_apart = atomicLoad(&alone[r]) > most && atomicLoad(&uneven[r]) > most
      && spread > max(${FEW_PARTS}u, ${NEAR_WORDS}u >> ${shift});
    if (is_apart) { apart++; }
  }
  store_${out}(0u, select(0u, n, apart >= ${REGIONS / 2}u));
}`;
}
