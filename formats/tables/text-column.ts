import type { HostColumn } from '../../algorithms/tables/host-table.ts';

/** A column of texts, each once in the dictionary, in the order in which they come. */
export function textColumn(texts: readonly string[]): Extract<HostColumn, { readonly type: 'string' }> {
  const codeOf = new Map<string, number>();
  for (const text of texts) if (!codeOf.has(text)) codeOf.set(text, codeOf.size);
  return {
    type: 'string',
    codes: Uint32Array.from(texts, (text) => codeOf.get(text)!),
    dictionary: [...codeOf.keys()],
  };
}
