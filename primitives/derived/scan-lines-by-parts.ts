import type { Backend, MonoidProgram, Program, ScanCommand, ScanLinesCommand, Store } from '../contract/backend.ts';
import { For, Let } from '../functors/control.ts';
import { bool, u32 } from '../functors/functor.ts';
import { literal, record } from '../functors/recorder.ts';
import { select } from '../functors/standard/choose.ts';
import { type Bool, type U32, Value } from '../functors/value.ts';
import { callPlain, variantOf } from '../functors/wrap-module.ts';
import { oneOf, type ScalarType } from '../ir/ir.ts';
import { addTo, assemble, leafAt, neutral, withBuffers } from './assembled-program.ts';
import { walkOfLines } from './walk-of-lines.ts';

type Values = Value<ScalarType>[];

/**
 * Scans lines by other commands: rows by a scan of all cells that starts anew at each row, columns by parts of a few
 * rows. The parts of a column are folded, their folds are scanned, and walks go through the parts from the prefixes.
 * Monoids that are not exact take one walk for each line.
 */
export function scanLinesByParts(backend: Backend, command: ScanLinesCommand): void {
  if (command.rows * command.columns === 0) return;
  if (!command.monoid.exact) backend.run(walkOfLines(command));
  else if (command.axis === 'rows') backend.run(scanOfRows(command));
  else scanColumns(backend, command);
}

/** The scan of all cells that starts anew at each row. */
function scanOfRows({ rows, columns, program, monoid, inclusive, stores }: ScanLinesCommand): ScanCommand {
  const { types, identity } = monoid;
  const isHead = (index: U32, width: U32): Bool => index.rem(width).eq(0);
  const given = { programs: { element: program }, uniforms: { columns } };
  const element = assemble('cellOfRow', ['u32', ...types], given, (index, { programs, uniforms }) => [
    u32(isHead(index, uniforms.columns!)),
    ...programs.element!([index]),
  ]);
  const prefixes: ScalarType[] = ['u32', ...types];
  const parameters = [...prefixes, ...prefixes];
  const emit = assemble('prefixOfRow', types, { parameters, uniforms: { columns } }, (index, inside) => {
    const [exclusive, inclusives] = [
      inside.parameters.slice(1, prefixes.length),
      inside.parameters.slice(-types.length),
    ];
    if (inclusive) return inclusives;
    const starts = isHead(index, inside.uniforms.columns!);
    return exclusive.map((value, k) => select(value, new Value(literal(types[k]!, identity[k]!)), starts));
  });
  return { kind: 'scan', extent: rows * columns, program: element, monoid: startingAnew(monoid), emit, stores };
}

/** The monoid that starts anew at elements whose first leaf, the number of starts, is not 0. */
function startingAnew(monoid: MonoidProgram): MonoidProgram {
  const types: ScalarType[] = ['u32', ...monoid.types];
  const module = variantOf(monoid.module, 'starting anew', () =>
    oneOf(
      record({ name: 'startingAnew', parameters: [...types, ...types], results: types }, (locals) => {
        const [starts, ...left] = locals.slice(0, types.length).map((local) => new Value(local));
        const [others, ...right] = locals.slice(types.length).map((local) => new Value(local));
        const combined = callPlain(
          monoid.module,
          [...left, ...right].map(({ operand }) => operand),
        );
        const isStart = (others as U32).ne(0);
        const latest = right.map((value, k) => select(new Value(combined[k]!), value, isStart));
        return [(starts as U32).add(others as U32), ...latest].map(({ operand }) => operand);
      }),
    ),
  );
  return { ...monoid, module, types, identity: [0, ...monoid.identity], commutative: false };
}

/** Rows of a part of a column. A column of up to twice as many rows is one part. */
const PART = 64;

function scanColumns(backend: Backend, command: ScanLinesCommand): void {
  const { rows, columns, program, monoid } = command;
  const parts = rows <= 2 * PART ? 1 : Math.ceil(rows / PART);
  if (parts === 1) {
    walkParts(backend, command, rows, undefined);
    return;
  }
  withBuffers(backend, (take) => {
    const words = parts * columns;
    const at = monoid.types.map((type) => ({ type, buffer: take(words), offset: 0 }));
    const stores = at.map(({ buffer }, value): Store => ({ buffer, offset: 0, capacity: words, value }));
    backend.run({ kind: 'forEach', extent: words, program: foldOfPart(command), stores });
    const folds = at.map((leaf) => leafAt(leaf, words));
    const before = at.map(({ type }) => ({ type, buffer: take(words), offset: 0 }));
    const prefixes = before.map(({ buffer }, value): Store => ({ buffer, offset: 0, capacity: words, value }));
    const element = assemble(
      'foldOfPart',
      monoid.types,
      { arrays: Object.fromEntries(folds.map((fold, k) => [`fold${k}`, fold])) },
      (index, { arrays }) => folds.map((_, k) => arrays[`fold${k}`]!.at(index)),
    );
    const scan = { ...command, rows: parts, program: element, inclusive: false, stores: prefixes };
    scanColumns(backend, scan);
    walkParts(
      backend,
      { ...command, program },
      PART,
      before.map((leaf) => leafAt(leaf, words)),
    );
  });
}

/** The fold of a part of a column: part p of column x is number `p · columns + x`. */
function foldOfPart({ rows, columns, program, monoid }: ScanLinesCommand): Program {
  const given = { programs: { element: program }, uniforms: { rows, columns, part: PART } };
  return assemble('foldPart', monoid.types, given, (index, { programs, uniforms }) => {
    const part = Let(index.div(uniforms.columns!));
    const column = Let(index.sub(part.mul(uniforms.columns!)));
    const first = Let(part.mul(uniforms.part!));
    const folded = neutral(monoid);
    For(first, first.add(uniforms.part!).min(uniforms.rows!), (row) =>
      addTo(folded, programs.element!([row.mul(uniforms.columns!).add(column)]), monoid),
    );
    return folded.map(Let);
  });
}

/** Walks through parts of `part` rows, each from its prefix or, if there are none, from the identity. */
function walkParts(
  backend: Backend,
  { rows, columns, program, monoid, inclusive, stores }: ScanLinesCommand,
  part: number,
  prefixes: readonly ReturnType<typeof leafAt>[] | undefined,
): void {
  const { types, identity } = monoid;
  const arrays = Object.fromEntries((prefixes ?? []).map((prefix, k) => [`prefix${k}`, prefix]));
  const start = assemble(
    'startOfPart',
    ['bool', 'u32', ...types, 'u32'],
    { arrays, uniforms: { rows, columns, part } },
    (index, { arrays, uniforms }) => {
      const number = Let(index.div(uniforms.columns!));
      const first = Let(number.mul(uniforms.part!));
      const column = index.sub(number.mul(uniforms.columns!));
      const before = types.map((type, k) =>
        prefixes === undefined ? new Value(literal(type, identity[k]!)) : arrays[`prefix${k}`]!.at(index),
      );
      const width = uniforms.columns!;
      const end = first.add(uniforms.part!).min(uniforms.rows!).mul(width);
      return [bool(u32(1)), first.mul(width).add(column), ...before, end];
    },
  );
  const step = assemble(
    'stepOfPart',
    ['bool', 'u32', ...types, 'u32', ...types],
    { programs: { element: program }, uniforms: { columns }, parameters: ['u32', ...types, 'u32'] },
    (_index, { programs, uniforms, parameters }): Values => {
      const [cell, end] = [parameters[0] as U32, parameters.at(-1) as U32];
      const before = parameters.slice(1, -1);
      const operands = [...before, ...programs.element!([cell])].map(({ operand }) => operand);
      const after = callPlain(monoid.module, operands).map((local) => new Value(local));
      const next = cell.add(uniforms.columns!);
      return [next.lt(end), next, ...after, cell, ...(inclusive ? after : before)];
    },
  );
  backend.run({
    kind: 'walk',
    extent: Math.ceil(rows / part) * columns,
    start,
    step,
    steps: part,
    changing: 1 + types.length,
    stores: stores.map((store, k) => ({ ...store, index: 2 + types.length, value: 3 + types.length + k })),
  });
}
