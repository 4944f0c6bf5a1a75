/** Finds the known name a person probably meant, for "did you mean" hints. */

/**
 * The candidate with the fewest edits from `word`, or undefined when none is near (more than a
 * third of its letters would have to change).
 */
export function nearestName(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestEdits = Infinity;
  for (const candidate of candidates) {
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < bestEdits) [best, bestEdits] = [candidate, edits];
  }
  const limit = Math.max(1, Math.ceil(Math.max(word.length, best?.length ?? 0) / 3));
  return bestEdits <= limit ? best : undefined;
}

/** Levenshtein distance; inputs are names, so the quadratic form is small. Long input counts as far. */
function editDistance(a: string, b: string): number {
  if (a.length > 100 || b.length > 100) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
