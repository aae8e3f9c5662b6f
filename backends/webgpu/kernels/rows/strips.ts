import { capacityOf, type StripsCommand } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch, tooManyBindings } from '../../launches/engine.ts';
import { bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';

/**
 * Number of threads in a workgroup. Strips take long and are often few, so small workgroups spread them over the cores
 * of the device.
 */
const THREADS = 32;

/** Runs a program for every strip, with one thread per strip; see `StripsCommand`. */
export function strips(engine: Engine, { extent, rows, program }: StripsCommand): void {
  const capacity = capacityOf(extent);
  if (capacity === 0) return;
  const parameters = createParameters(engine.pool);
  const length = parameters.length(extent);
  const own = Math.min(rows, capacity);
  const rowsWord = parameters.word(own);
  const linked = linkProgram('p_', program, parameters, extent);
  // A program that reads and writes no owned rows has no effect.
  if (!linked.arrays.some(({ isOwned }) => isOwned)) return;
  const bindings = createBindings(parameters);
  const bound = bindArrays(linked, bindings);
  const { storageBuffers } = engine.limits;
  if (bindings.size > storageBuffers) throw tooManyBindings(bindings.size, storageBuffers);
  launch(engine, {
    key: `strips ${programKey(bound)} ${length.raw} ${rowsWord}`,
    bindings,
    groups: Math.ceil(Math.ceil(capacity / own) / THREADS),
    code: (shader) => ({
      threads: THREADS,
      declarations: emitProgram(bound, shader),
      main: `let n = ${lengthExpression(length)};
let rows = ${parameter(rowsWord)};
let s = ${GROUP_NUMBER} * ${THREADS}u + t;
if (n == 0u || s > (n - 1u) / rows) { return; }
p_first = s * rows;
p_rows = min(rows, n - p_first);
p_entry(s, p_first, p_first + p_rows);`,
    }),
  });
}
