/** Beyond this a key is not worth its memory. */
const longestKey = 1_000_000;

/** The function with its last results kept, by what they were made from: for work that clients ask for turn after turn. */
export function remembered<Input, Value>(most: number, make: (input: Input) => Value): (input: Input) => Value {
  const kept = new Map<string, Value>();
  return (input) => {
    const key = JSON.stringify(input);
    const value = kept.has(key) ? (kept.get(key) as Value) : make(input);
    if (key.length > longestKey) return value;
    // Those used last stand last, and the first ones go.
    kept.delete(key);
    kept.set(key, value);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return value;
  };
}
