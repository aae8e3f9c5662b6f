import {
  bool,
  type Column,
  copyIf,
  exclusiveScan,
  fn,
  map,
  plus,
  reduceByKey,
  sequence,
  sortByKey,
  u32,
} from '../../primitives/index.ts';
import type { Experiment } from '../harness/experiment.ts';
import { randomOf } from './inputs.ts';
import { plainChain } from './plain.ts';

const affine = fn('affine', { x: u32 }, u32, ({ x }) => x.mul(2654435761).add(1));
const isOdd = fn('isOdd', { key: u32, row: u32 }, bool, ({ key }) => key.and(1).eq(1));
const sixteenth = fn('sixteenth', { i: u32 }, u32, ({ i }) => i.shr(4));

/**
 * One pipeline of five primitives: map, copyIf (keeps half), sortByKey by 32-bit keys, reduceByKey over runs of 16
 * rows, exclusive scan.
 */
export function chained(x: Column<'u32'>): Column<'u32'> {
  const key = map(affine, { x });
  const kept = copyIf({ key, row: sequence(x.length) }, isOdd);
  const { values: rows } = sortByKey(kept.key, kept.row);
  const runs = map(sixteenth, { i: sequence(rows.length) });
  return exclusiveScan(reduceByKey(runs, rows, plus(u32)).values, plus(u32));
}

/** The pipeline of {@link chained} over random numbers. */
export const chain: Experiment<{ x: Uint32Array }> = {
  name: 'chain',
  inputs: (one) => ({ x: randomOf(one) as Uint32Array }),
  run: ({ x }) => chained(x),
  reference: ({ x }) => plainChain(x),
  plain: ({ x }) => plainChain(x),
};
