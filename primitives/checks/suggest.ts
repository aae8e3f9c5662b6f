/**
 * The candidate that a mistyped word most likely means: a candidate that begins with the word or, if there is none, the
 * candidate with the smallest edit distance. Undefined if no candidate is similar enough for the length of the word.
 */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  const abbreviated = candidates.find((candidate) => word.length > 1 && candidate.startsWith(word));
  if (abbreviated !== undefined) return abbreviated;
  const limit = Math.max(1, Math.floor(word.length / 3));
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** Like {@link suggest}, for names whose case matters: one that differs in case alone is meant before all others. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  return names.find((each) => each.toLowerCase() === lower) ?? suggest(name, names);
}

/** What to do about a mistyped name: to write the one that is nearest. Undefined if none is similar. */
export function remedyForName(name: string, names: readonly string[]): string | undefined {
  const meant = nearestName(name, names);
  return meant && remedyFor(meant, '');
}

/** What to do about a mistyped word: to write the one that was `meant`; if none is similar, `otherwise`. */
export function remedyFor(meant: string | undefined, otherwise: string): string {
  return meant === undefined ? otherwise : `Did you mean ${meant}?`;
}

/** The edit distance of two words. A swap of adjacent letters counts as one edit (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : substituted;
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, substituted, swapped));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
