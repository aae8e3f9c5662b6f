import type { MonoidProgram } from '../contract/backend.ts';
import { BLOCK, QUAD } from '../contract/combination-tree.ts';
import { If, Let, Var } from '../functors/control.ts';
import { u32 } from '../functors/functor.ts';
import { literal } from '../functors/recorder.ts';
import { select } from '../functors/standard/choose.ts';
import { type U32, Value, type Variable } from '../functors/value.ts';
import { callPlain } from '../functors/wrap-module.ts';
import type { ScalarType } from '../ir/ir.ts';

type Values = readonly Value<ScalarType>[];
type Variables = readonly Variable<ScalarType>[];

/**
 * A sequence of the canonical combination tree (`combination-tree.ts`) while its elements come one after the other: the
 * elements of a line, or the totals of blocks of another tier.
 */
interface Tier {
  /** The fold of the last, incomplete quad. */
  readonly local: Variables;
  /** The totals of aligned groups: slot d has 2^d quads, where bit d of the number of quads is set. */
  readonly slots: readonly Variables[];
  /** The prefix before the quad. */
  readonly before: Variables;
  /** Whether there is no tier above, as the sequence is one block at most. */
  readonly isTop: boolean;
}

/** Numbers of groups in the tiers of a line. */
function slotsOf(length: number): number[] {
  const quads = Math.ceil(Math.min(length, BLOCK) / QUAD);
  const slots = length > BLOCK ? Math.log2(BLOCK / QUAD) : Math.floor(Math.log2(Math.max(1, quads))) + 1;
  return length > BLOCK ? [slots, ...slotsOf(Math.ceil(length / BLOCK))] : [slots];
}

/** The number of states that a line of this length carries from cell to cell. */
export function statesOf(length: number): number {
  return slotsOf(length).reduce((sum, slots) => sum + slots + 2, 0);
}

/** Combines the cells of a line, one after the other, as the canonical combination tree of its length brackets them. */
export class LineTree {
  readonly #tiers: readonly Tier[];
  readonly #monoid: MonoidProgram;

  /** `states` are the initial values of the variables: as many states as `statesOf` says, one after the other. */
  constructor(monoid: MonoidProgram, length: number, states: Values) {
    this.#monoid = monoid;
    let at = 0;
    const take = (): Variables => {
      at += monoid.types.length;
      return states.slice(at - monoid.types.length, at).map(Var);
    };
    const all = slotsOf(length);
    this.#tiers = all.map((count, tier) => ({
      local: take(),
      before: take(),
      slots: Array.from({ length: count }, take),
      isTop: tier === all.length - 1,
    }));
  }

  /** The variables' values, in the order of the constructor. */
  states(): Value<ScalarType>[] {
    return this.#tiers.flatMap(({ local, before, slots }) => [...local, ...before, ...slots.flat()]).map(Let);
  }

  /** Adds cell `at` of the line. Returns the prefixes of the cell. */
  add(at: U32, cell: Values): { readonly exclusive: Values; readonly inclusive: Values } {
    const { local, before } = this.#tiers[0]!;
    const first = local.map(Let);
    const joined = this.#combine(before, first);
    const isFirstOfQuad = at.and(QUAD - 1).eq(0);
    const inFirstQuad = at.lt(QUAD);
    const { identity, types } = this.#monoid;
    const neutral = identity.map((leaf, k) => new Value(literal(types[k]!, leaf)));
    const exclusive = this.#choose(
      at.eq(0),
      neutral,
      this.#choose(isFirstOfQuad, before, this.#choose(inFirstQuad, first, joined)),
    );
    this.#fold(0, at, cell);
    const inclusive = this.#choose(inFirstQuad, local, this.#combine(before, local));
    const results = { exclusive: exclusive.map(Let), inclusive: inclusive.map(Let) };
    this.#endQuad(0, at);
    return results;
  }

  /** The combination of all `length` cells, which must have been added. */
  total(length: number): Values {
    return length === 0
      ? this.#monoid.identity.map((leaf, k) => new Value(literal(this.#monoid.types[k]!, leaf)))
      : this.#total(0, length);
  }

  #total(tier: number, length: number): Values {
    const { local, slots, isTop } = this.#tiers[tier]!;
    if (!isTop && length % BLOCK === 0) return this.#total(tier + 1, length / BLOCK);
    const quads = Math.floor((isTop ? length : length % BLOCK) / QUAD);
    let all: Values | undefined = length % QUAD === 0 ? undefined : local;
    for (const [level, slot] of slots.entries()) {
      if (((quads >> level) & 1) === 1) all = all === undefined ? slot : this.#combine(slot, all);
    }
    if (isTop) return all!;
    const blocks = Math.ceil(length / BLOCK);
    this.#push(tier + 1, u32(blocks - 1), all!);
    return this.#total(tier + 1, blocks);
  }

  #push(tier: number, at: U32, element: Values): void {
    this.#fold(tier, at, element);
    this.#endQuad(tier, at);
  }

  #fold(tier: number, at: U32, element: Values): void {
    const { local } = this.#tiers[tier]!;
    set(local, this.#choose(at.and(QUAD - 1).eq(0), element, this.#combine(local, element)));
  }

  #endQuad(tier: number, at: U32): void {
    If(at.and(QUAD - 1).eq(QUAD - 1), () => {
      const total = this.#tiers[tier]!.local.map(Let).map(Var);
      this.#carry(tier, Let(at.shr(2).and(BLOCK / QUAD - 1)), at, total, 0);
      this.#setBefore(tier, Let(at.add(1)));
    });
  }

  /** Adds a group of 2^`level` quads, which ends with number `quad`: joins it with the group before of the same size. */
  #carry(tier: number, quad: U32, at: U32, total: Variables, level: number): void {
    const { slots, isTop } = this.#tiers[tier]!;
    if (level === slots.length) {
      this.#push(tier + 1, Let(at.div(BLOCK)), total.map(Let));
    } else if (isTop && level === slots.length - 1) set(slots[level]!, total);
    else {
      If(quad.shr(level).and(1).eq(0), () => set(slots[level]!, total)).Else(() => {
        set(total, this.#combine(slots[level]!, total));
        this.#carry(tier, quad, at, total, level + 1);
      });
    }
  }

  /** Sets the prefix before the quad that begins with element `next`. */
  #setBefore(tier: number, next: U32): void {
    const { before, slots, isTop } = this.#tiers[tier]!;
    const quad = Let(next.shr(2).and(BLOCK / QUAD - 1));
    for (const [level, slot] of slots.entries()) {
      const isLowest = quad.and(2 ** level - 1).eq(0);
      If(quad.shr(level).and(1).ne(0), () => set(before, this.#choose(isLowest, slot, this.#combine(slot, before))));
    }
    if (isTop) return;
    const block = Let(next.div(BLOCK));
    If(block.ne(0), () => {
      const above = this.#tiers[tier + 1]!;
      const joined = this.#choose(block.lt(QUAD), above.local, this.#combine(above.before, above.local));
      const prefix = this.#choose(block.and(QUAD - 1).eq(0), above.before, joined).map(Let);
      set(before, this.#choose(quad.eq(0), prefix, this.#combine(prefix, before)));
    });
  }

  #combine(left: Values, right: Values): Values {
    const operands = [...left.map(Let), ...right.map(Let)].map(({ operand }) => operand);
    return callPlain(this.#monoid.module, operands).map((local) => new Value(local));
  }

  #choose(condition: ReturnType<U32['eq']>, yes: Values, no: Values): Values {
    return yes.map((value, k) => Let(select(no[k]!, value, condition)));
  }
}

function set(variables: Variables, values: Values): void {
  for (const [k, value] of values.map(Let).entries()) variables[k]!.set(value as never);
}
