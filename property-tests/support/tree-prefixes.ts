import { CombinationTree } from '../../primitives/contract/combination-tree.ts';

/** The prefixes of every element by the canonical tree of the library; `exclusive` is undefined for the first. */
export function treePrefixes<S>(
  elements: readonly S[],
  combine: (left: S, right: S) => S,
): { readonly exclusive: S | undefined; readonly inclusive: S }[] {
  const tree = new CombinationTree(combine);
  return elements.map((element) => {
    tree.scan(element);
    return { exclusive: tree.exclusive, inclusive: tree.inclusive as S };
  });
}

/** The combination of all elements by the canonical tree of the library. */
export function treeTotal<S>(elements: readonly S[], combine: (left: S, right: S) => S): S | undefined {
  const tree = new CombinationTree(combine);
  for (const element of elements) tree.add(element);
  return tree.end();
}
