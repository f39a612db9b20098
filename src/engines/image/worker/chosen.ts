/** One of the names that there are, and a sentence where it is not the one that was asked for. */
export interface Chosen<Name extends string> {
  readonly name: Name;
  readonly note?: string;
}

/** These leave the choice open. */
const open = ['', 'automatic', 'default'];

export function chosenName<Name extends string>(
  what: string,
  asked: string,
  names: readonly [Name, ...Name[]],
): Chosen<Name> {
  const found = names.find((name) => plain(name) === plain(asked));
  if (found !== undefined) return { name: found };
  const [first] = names;
  if (open.includes(asked.trim().toLowerCase())) return { name: first };
  return { name: first, note: `There is no ${what} ${JSON.stringify(asked.slice(0, 60))}; ${first} was taken.` };
}

/** `Euler a`, `euler_a` and `k_euler_a` are one. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/^k_/, '')
    .replaceAll(/[^a-z0-9+]/g, '');
}
