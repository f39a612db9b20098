export interface ContextSizes {
  /** What the settings say, whoever chose it. */
  readonly wanted: number;
  /** Whether somebody chose it. */
  readonly given: boolean;
  readonly trained: number;
  readonly actual: number;
}

/** The size of the context, and why it is not another one. */
export function contextFact({ wanted, given, trained, actual }: ContextSizes): string {
  const size = `context ${actual}`;
  if (actual < wanted && actual === trained && !given) {
    return `${size} (lowered from ${wanted} to what the model was trained for; --contextsize stretches it)`;
  }
  if (actual < wanted) return `${size} (lowered from ${wanted} by the engine)`;
  if (given && actual < trained) return `${size} (as --contextsize asks; the model was trained for ${trained})`;
  return size;
}
