/**
 * Spreads of lists into calls that take any number of arguments, by the reason why the list is short whatever data users
 * have, and by file. `spreads.test` finds the others. A loop, or `largestOf` and `smallestOf`, serve longer lists.
 */
export const BOUNDED_SPREADS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'A tuple, or the arguments of a function with a fixed number of parameters.': {
    'algorithms/tables/floats.ts': ['max(...ends.map(Math.abs))'],
    'cli/sign-of-life.ts': ['say(...words)'],
    'backends/webgpu/transfers/downloads.ts': ['read(...args)'],
    'backends/workers/kernels/rows/grid-rows.ts': ['(...operation)'],
    'bench/functors/float-functions.ts': ['own(...(Object.values(values) as never[]))'],
    'bench/polygons/polygon-geos.ts': ['of(...counts(first))', 'of(...counts(second))'],
    'bench/quadtree/join-layers.ts': ['search(...box)'],
    'bench/quadtree/queries.ts': ['search(...box)'],
    'cli/bench-experiments.ts': ['call(...args)'],
    'cli/imported.ts': ['(...args)'],
    'cli/reconcile-crs.ts': ['max(...x)', 'max(...y)', 'min(...x)', 'min(...y)'],
    'primitives/context/watched-backend.ts': ['(...args)'],
    'primitives/functors/text/builtins.ts': ['own(...numbers)', 'own(...vectors)'],
  },
  'The columns, words or captures of one thing, of which its type has a few.': {
    'algorithms/tables/table.ts': ['dispose(...words)'],
    'algorithms/zonal/raster-parts.ts': ['dispose(...Object.values(captures))'],
    'formats/results/maq-file.ts': ['fromCharCode(...bytes.subarray(0, MAGIC.length))'],
  },
  'The parameters, operands or results of a functor or a kernel, whose size the backends bound.': {
    'backends/reference/emit-javascript.ts': ['Function(...parameters)'],
    'backends/reference/relax.ts': ['push(...(places[k] === OUTSIDE ? outside : states[places[k]!]!))'],
    'backends/spilling/carry.ts': ['body(...buffers)'],
    'backends/workers/kernels/cross-reduce/cross-reduce.ts': ['push(...into)', 'push(...vectors)'],
    'backends/workers/kernels/relax/relax-chunk.ts': ['push(...folded)'],
    'backends/workers/kernels/shared/tree-vectors.ts': ['push(...vectorLocals(code, monoid))'],
    'backends/workers/wasm/emit-masked.ts': ['vector(...words.map((word) => this.#vector(word, u)))'],
    'backends/workers/wasm/emit-wasm.ts': ['push(...returned)'],
    'backends/workers/wasm/scalar-operations.ts': ['(...operands)'],
    'backends/workers/wasm/vector-operations.ts': ['vector(...operands)'],
  },
  'Pieces of a fixed length.': {
    'graph/remote/wire-reader.ts': ['fromCharCode(...units.subarray(i, i + 8192))'],
  },
  'The bytes of one instruction of WebAssembly.': {
    'backends/workers/wasm/wasm-code.ts': [
      'push(...bytes)',
      'push(...unsigned(local.id))',
      'push(...unsigned(this.#depth - label.depth))',
    ],
    'backends/workers/wasm/wasm-expressions.ts': [
      'push(...instruction)',
      'vectorInstruction(...bytes)',
      'vectorInstruction(...unsigned(offset))',
    ],
    'backends/workers/wasm/wasm-locals.ts': ['push(...instruction)', 'push(...unsigned(id))'],
    'backends/workers/wasm/wasm-statements.ts': [
      'write(...memoryInstruction(stored.type === F32 ? op.f32Store : op.i32Store, offset))',
      'write(...unsigned(index))',
      'write(...unsigned(offset))',
      'write(...vectorMemoryInstruction(simd.store, offset))',
    ],
  },
  'What the program itself lists: kinds of errors, patterns that it probes, tables, steps of an example.': {
    'backends/webgpu/device/probe.ts': ['push(...(await run(module, columns, arithmetic)))'],
    'backends/workers/kernels/tiles/decode-tiles.ts': ['push(...unpackTable())'],
    'backends/webgpu/launches/recorder.ts': ['push(...closeErrorScopes(device))'],
    'bench/tables/blocking.ts': ["and(...Array.from({ length: 2000 }, (_, i) => t.unequalTo(t.column('u'), i)))"],
    'bench/tune/axes.ts': ['differingMembers(...theirs.map((other) => (other ?? {}) as object))'],
    'cli/zonal-rasters.ts': ['(...args)'],
    'examples/web/page.ts': ['max(...all.map(([, ms]) => ms ?? 0))', 'replaceChildren(...bars)'],
  },
  'The cells of a row of a printed table, or the options of a tool.': {
    'bench/polygons/compare-postgis-cluster.ts': ['tool(...psql)'],
    'bench/primitives/host-time.ts': ['push(...cellsOf(await timeOf(prepared.call)))'],
  },
};
