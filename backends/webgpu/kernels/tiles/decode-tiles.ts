import { capacityOf, type DecodeTilesCommand } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { lines } from '../shared/lines.ts';
import { DOWN, emitCells, emitDecoder, type Shape, shapeOf, takesShape } from './tile-decoder.ts';

/** Whether {@link decodeTiles} can execute a command; see {@link takesShape}. */
export function takesDecoding(engine: Engine, command: DecodeTilesCommand): boolean {
  const { tile, words, into } = command;
  if (!takesShape(engine, command)) return false;
  const buffers = [...[...tile.arrays.values(), words].map(({ buffer }) => buffer), into.buffer];
  const memories = new Set(buffers.map((buffer) => engine.pool.resolve(buffer)));
  return [...memories].reduce((sum, { parts }) => sum + parts.length, 0) < engine.limits.storageBuffers;
}

/**
 * Decodes tiles, one in each workgroup. A thread unpacks four columns of eight rows, and adds up its rows downwards in
 * registers. Threads below add the sums of those above, which are in workgroup memory. At last the threads of a row add
 * up their columns. With subgroups of 32, lanes hold the widths of all blocks and find where each block starts.
 */
export function decodeTiles(engine: Engine, command: DecodeTilesCommand): void {
  const { extent, tile, words, bits, into } = command;
  const { pool } = engine;
  const shape = shapeOf(engine, command);
  const { threads, inLanes } = shape;
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const word = (value: number): string => parameter(parameters.word(value));
  const [offset, count, to] = [word(words.offset), word(capacityOf(words.length)), word(into.word)];
  const bindings = createBindings(parameters);
  const places = bindArrays(linkProgram('t_', tile, parameters, extent), bindings);
  const read = bindings.bind(pool.resolve(words.buffer), 'read');
  const write = bindings.bind(pool.resolve(into.buffer), 'write');
  const encoded = { read, offset: offset!, count: count!, tiles: lengthExpression(length) };
  const code = (shader: Shader): KernelText => ({
    threads,
    subgroups: inLanes,
    declarations: `${emitProgram(places, shader)}\n${emitDecoder(shape, encoded)}`,
    main: `let g = ${GROUP_NUMBER};
let place = t_entry(g);
${emitCells(shape, encoded)}
if (fits) {
${lines(DOWN, (r) => emitStore(write, bits, to, shape, r))}
} else if (is_tile) {
${lines(DOWN, (r) => emitZeros(write, bits, to, shape, r))}
}`,
  });
  const key = [shape.columns, shape.rows, bits, inLanes, read, write, length.raw];
  launch(engine, {
    key: `decodeTiles ${programKey(places)} ${key.join(' ')}`,
    bindings,
    code,
    groups: capacityOf(extent),
  });
}

/** WGSL of the index of the first word that a thread stores of its row r. */
function placeOf(bits: number, to: string, { rows, across }: Shape, r: number): string {
  return `((g * ${rows}u + strip * ${DOWN}u + ${r}u) * ${across}u + q) * ${bits / 8}u + ${to}`;
}

function emitStore(write: number, bits: number, to: string, shape: Shape, r: number): string {
  const c = `c${r}`;
  const half = (low: string, high: string): string => `(${c}.${low} & 0xffffu) | (${c}.${high} << 16u)`;
  const bytes = [...'xyzw'].map((leaf, k) => `((${c}.${leaf} & 0xffu) << ${8 * k}u)`).join(' | ');
  const words = bits === 32 ? [...'xyzw'].map((leaf) => `${c}.${leaf}`) : bits === 16 ? [half('x', 'y'), half('z', 'w')] : [bytes]; // biome-ignore format: one line
  return `{ let at = ${placeOf(bits, to, shape, r)}; ${words.map((value, k) => `store_${write}(at + ${k}u, ${value});`).join(' ')} }`;
}

function emitZeros(write: number, bits: number, to: string, shape: Shape, r: number): string {
  const stores = lines(bits / 8, (k) => `store_${write}(at + ${k}u, 0u);`);
  return `{ let at = ${placeOf(bits, to, shape, r)}; ${stores} }`;
}
