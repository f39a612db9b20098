/** Who answers in a comparison, as it is chosen: ids of a model and of a preset, empty for those in use. */
export interface Candidate {
  readonly model: string;
  readonly preset: string;
}

export const maxCandidates = 3;

/** Names of the candidates: what they have in common is left out, unless nothing is left. */
export function labelsOf(names: readonly { readonly model: string; readonly preset: string }[]): readonly string[] {
  const differ = (name: 'model' | 'preset'): boolean => new Set(names.map((one) => one[name])).size > 1;
  const [models, presets] = [differ('model'), differ('preset')];
  return names.map(({ model, preset }) => {
    if (presets && !models) return preset;
    return models && !presets ? model : [model, preset].filter(Boolean).join(' · ');
  });
}

/** The same items in an order by chance. */
export function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  const rest = [...items];
  const result: Item[] = [];
  while (rest.length > 0) result.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return result;
}

/** How often a candidate was chosen, of how many comparisons it took part in. */
export interface Tally {
  readonly wins: number;
  readonly total: number;
}

export function tallied(
  tally: Readonly<Record<string, Tally>>,
  labels: readonly string[],
  winner: string,
): Readonly<Record<string, Tally>> {
  const next = { ...tally };
  for (const label of new Set(labels)) {
    const { wins = 0, total = 0 } = next[label] ?? {};
    next[label] = { wins: wins + (label === winner ? 1 : 0), total: total + 1 };
  }
  return next;
}

/** The most successful first. */
export function ranked(tally: Readonly<Record<string, Tally>>): readonly (Tally & { readonly label: string })[] {
  return Object.entries(tally)
    .map(([label, counts]) => ({ label, ...counts }))
    .sort((a, b) => b.wins / b.total - a.wins / a.total || b.total - a.total);
}
