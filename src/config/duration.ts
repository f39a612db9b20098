const factors: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90`, `90s`, `10m`, `2h`. */
export function durationMs(value: unknown): number | undefined {
  const { count, unit = 's' } = /^(?<count>\d+(\.\d+)?)\s*(?<unit>ms|s|m|h|d)?$/.exec(String(value))?.groups ?? {};
  return count === undefined ? undefined : Math.round(Number(count) * (factors[unit] ?? 1000));
}

/** `--idle`: infinite for `never`; undefined where it is not set or wrong. */
export function idleMs(text: string): number | undefined {
  return text === 'never' ? Number.POSITIVE_INFINITY : durationMs(text);
}
