import type { Module, Statement } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { type Weights, worstCase } from '../../analyses/worst-case.ts';

/** Maximum number of statements of a functor whose code may be repeated within one kernel. */
const MAX_STATEMENTS = 100;

/**
 * Counts statements, including those of inlined calls; infinite if there is a loop, or an array, which takes too many
 * registers to be there several times.
 */
const size: Weights = ({ kind }) => (HEAVY.has(kind) ? Number.POSITIVE_INFINITY : kind === 'call' ? 0 : 1);
const HEAVY: ReadonlySet<Statement['kind']> = new Set(['loop', 'localArray']);

/**
 * Whether a functor is cheap. Its code is then short enough to be repeated, so that a thread can evaluate several
 * elements at a time.
 */
export const isLight: (module: Module) => boolean = memoized((module) => worstCase(module, size) <= MAX_STATEMENTS);
