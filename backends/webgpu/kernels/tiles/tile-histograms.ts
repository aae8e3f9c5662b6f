import { capacityOf, type TileHistogramsCommand } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import { rangesOf } from '../../memory/ranges.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { lines } from '../shared/lines.ts';
import { DOWN, emitCells, emitDecoder, shapeOf, takesShape } from './tile-decoder.ts';

/** Counters in workgroup memory: for the values of a tile's cells that are near that of its first one. */
const COUNTERS = 2048;

/** Bytes of workgroup memory besides that of the decoder. */
const OWN_BYTES = 4 * COUNTERS + 16;

/** Whether {@link tileHistograms} can execute a command: tiles of the shapes that a workgroup can decode. */
export function takesTileHistograms(engine: Engine, command: TileHistogramsCommand): boolean {
  const { tile, part, bin, words, masks, hidden, into } = command;
  if (!takesShape(engine, command, OWN_BYTES)) return false;
  const programs = [tile, part, bin].flatMap(({ arrays }) => [...arrays.values()]);
  const arrays = [...programs, words, masks, ...(hidden === undefined ? [] : [hidden.bits])];
  const memories = new Set([...arrays, into].map(({ buffer }) => engine.pool.resolve(buffer)));
  return [...memories].reduce((sum, { parts }) => sum + parts.length, 0) <= engine.limits.storageBuffers;
}

/**
 * Decodes tiles, one in each workgroup, and counts the cells of one part after the other. Cells of a tile have similar
 * values, so a workgroup counts values, not bins, in its own memory. After each part, the values found are binned, and
 * what was counted is added to the histogram. Cells far from the first one of the tile are binned one by one.
 */
export function tileHistograms(engine: Engine, command: TileHistogramsCommand): void {
  const { extent, tile, part, bin, words, masks, hidden, bits, bins, histograms, into } = command;
  const { pool, recorder } = engine;
  const target = pool.resolve(into.buffer);
  for (const { part, word, words } of rangesOf(target, into.word, bins * histograms)) {
    recorder.clear(part, word * 4, words * 4);
  }
  const shape = shapeOf(engine, command);
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const word = (value: number): string => parameter(parameters.word(value));
  const bindings = createBindings(parameters);
  const linked = [
    linkProgram('t_', tile, parameters, extent),
    linkProgram('p_', part, parameters, command.parts),
    linkProgram('b_', bin, parameters, 1),
  ].map((program) => bindArrays(program, bindings));
  const bound = ({ buffer, offset, length }: typeof words): Words => ({
    read: bindings.bind(pool.resolve(buffer), 'read'),
    offset: word(offset),
    count: word(capacityOf(length)),
  });
  const encoded = { ...bound(words), tiles: lengthExpression(length) };
  const masked = bound(masks);
  const covered = hidden && { ...bound(hidden.bits), pitch: word(hidden.pitch), bin: word(hidden.bin) };
  const out = bindings.bind(target, 'atomic');
  const [to, binCount, histogramCount] = [word(into.word), word(bins), word(histograms)];
  const counters = Math.min(COUNTERS, 2 ** bits);
  const kept = bits === 32 ? '0xffffffffu' : `${2 ** bits - 1}u`;
  const code = (shader: Shader): KernelText => ({
    threads: shape.threads,
    subgroups: shape.inLanes,
    declarations: `${linked.map((program) => emitProgram(program, shader)).join('\n')}
${emitDecoder(shape, encoded)}
var<workgroup> near: array<atomic<u32>, ${counters}>;
var<workgroup> covered: atomic<u32>;
// One more than the last part of which a cell was counted.
var<workgroup> counted: atomic<u32>;
var<workgroup> parts: vec2<u32>;
${emitFourBits('mask', masked)}
${covered === undefined ? '' : emitFourBits('hidden', covered)}
fn add(bin: u32, histogram: u32, number: u32) {
  if (bin < ${binCount}) { add_${out}(${to} + histogram * ${binCount} + bin, number); }
}
fn count(cell: u32, base: u32, histogram: u32) {
  let at = (cell - base) & ${kept};
  if (at < ${counters}u) { atomicAdd(&near[at], 1u); } else { add(b_entry(0u, cell & ${kept}), histogram, 1u); }
}`,
    main: `let g = ${GROUP_NUMBER};
let place = t_entry(g);
if (t == 0u) { parts = select(vec2<u32>(), vec2<u32>(place.r2, place.r3), g < ${encoded.tiles}); }
let own_parts = workgroupUniformLoad(&parts);
if (own_parts.x >= own_parts.y) { return; }
// Workgroup memory is not cleared. Decoding has a barrier.
for (var k = t; k < ${counters}u; k += ${shape.threads}u) { atomicStore(&near[k], 0u); }
if (t == 0u) { atomicStore(&covered, 0u); atomicStore(&counted, 0u); }
${emitCells(shape, encoded)}
if (!fits) { ${lines(DOWN, (r) => `c${r} = vec4<u32>();`)} }
let base = select(0u, place.r1, fits) - ${counters / 2}u;
var hides = 0u;
${covered === undefined ? '' : lines(DOWN, (r) => `hides |= hidden_bits(place.r4 + (strip * ${DOWN}u + ${r}u) * ${covered.pitch}, q) << ${4 * r}u;`)}
for (var p = own_parts.x; p < own_parts.y; p++) {
  let part = p_entry(p);
  var cells = 0u;
  if (part.r0 < ${histogramCount}) {
${lines(DOWN, (r) => `    cells |= mask_bits(part.r1 + (strip * ${DOWN}u + ${r}u) * part.r2, q) << ${4 * r}u;`)}
  }
  ${covered === undefined ? '' : 'let lacking = countOneBits(cells & hides); if (lacking > 0u) { atomicAdd(&covered, lacking); }'}
  cells &= ~hides;
  if (cells != 0u) { atomicMax(&counted, p + 1u); }
${lines(DOWN, (r) =>
  [...'xyzw']
    .map((leaf, k) => `  if ((cells & ${2 ** (4 * r + k)}u) != 0u) { count(c${r}.${leaf}, base, part.r0); }`)
    .join('\n'),
)}
  workgroupBarrier();
  if (atomicLoad(&counted) == p + 1u) { for (var k = t; k < ${counters}u; k += ${shape.threads}u) {
    let found = atomicLoad(&near[k]);
    if (found > 0u) {
      atomicStore(&near[k], 0u);
      add(b_entry(0u, (k + base) & ${kept}), part.r0, found);
    }
  } }
  ${covered === undefined ? '' : `if (t == 0u) { let found = atomicExchange(&covered, 0u); if (found > 0u) { add(${covered.bin}, part.r0, found); } }`}
  workgroupBarrier();
}`,
  });
  const key = [
    shape.columns,
    shape.rows,
    bits,
    shape.inLanes,
    encoded.read,
    masked.read,
    covered?.read,
    out,
    length.raw,
  ];
  launch(engine, {
    key: `tileHistograms ${linked.map(programKey).join(' ')} ${key.join(' ')}`,
    bindings,
    code,
    groups: capacityOf(extent),
  });
}

/** Words of bits, as WGSL. */
interface Words {
  readonly read: number;
  readonly offset: string;
  readonly count: string;
}

/** WGSL of a function that returns the bits of the four cells from column 4q on. Words past the end are 0. */
function emitFourBits(name: string, { read, offset, count }: Words): string {
  return `fn ${name}_bits(row: u32, q: u32) -> u32 {
  let at = row + (q >> 3u);
  let word = load_${read}(min(at, max(${count}, 1u) - 1u) + ${offset});
  return select(0u, (word >> (4u * (q & 7u))) & 15u, at < ${count});
}`;
}
