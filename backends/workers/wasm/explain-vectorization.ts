import { requireModule } from '../../../primitives/checks/arguments.ts';
import { entryOf, type Module } from '../../../primitives/ir/ir.ts';
import { hasLoops } from '../../../primitives/ir/visit.ts';
import { flatten, Graph, NotStraight, type Slots } from '../../analyses/straight-line.ts';
import { planMasked } from './masked-part.ts';

/** A report on whether the workers backend evaluates a functor with SIMD, for four indices at a time. */
export interface Vectorization {
  readonly vectorizes: boolean;
  /** The reason why the functor does not vectorize, in one sentence; undefined if it vectorizes. */
  readonly reason?: string | undefined;
}

/**
 * Reports whether the workers backend evaluates a functor with SIMD. A first parameter of type u32 is taken as the
 * launch index. The other parameters are taken as values that vary between indices.
 *
 * @example
 * const halve = fn({ i: u32 }, u32, ({ i }) => i.shr(1));
 * explainVectorization(halve.module).vectorizes; // true
 */
export function explainVectorization(module: Module): Vectorization {
  requireModule('explainVectorization', 'module', module);
  const straight = explainStraight(module);
  if (straight.vectorizes) return straight;
  const masked = attempt(module, () => planMasked(module));
  return masked.vectorizes || hasLoops(module) ? masked : straight;
}

/** Reports whether a functor compiles to straight-line vector code. Such code has no loops and needs no masks. */
export function explainStraight(module: Module): Vectorization {
  return attempt(module, () => {
    const graph = new Graph('aligned');
    const arrays = [...module.arrays.keys()];
    const uniforms = [...module.uniforms.keys()];
    const slots: Slots = { array: (name) => arrays.indexOf(name), uniform: (name) => uniforms.indexOf(name) };
    const args = entryOf(module).parameters.map(({ type }, i) =>
      i === 0 && type === 'u32' ? graph.index() : graph.parameter(type, `p${i}`),
    );
    flatten(graph, module, slots, args);
  });
}

function attempt(module: Module, vectorize: () => void): Vectorization {
  try {
    vectorize();
    return { vectorizes: true };
  } catch (error) {
    if (!(error instanceof NotStraight)) throw error;
    return {
      vectorizes: false,
      reason: `The functor ${entryOf(module).name} runs one index at a time: ${error.message}.`,
    };
  }
}
