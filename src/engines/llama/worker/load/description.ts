const units = [
  ['B', 1e9],
  ['M', 1e6],
  ['K', 1e3],
] as const;

/** The library knows the size of well-known models only and says `?B` of all others; the weights tell it of each. */
export function withSize(description: string, parameters: number): string {
  return parameters > 0 ? description.replace(/(?<= )\?B(?= |$)/, shortNumber(parameters)) : description;
}

function shortNumber(count: number): string {
  for (const [unit, size] of units) {
    // What would be rounded up to the next unit is said in that one.
    if (count >= size * 0.9995) return `${round(count / size)}${unit}`;
  }
  return String(count);
}

function round(value: number): string {
  return String(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}
