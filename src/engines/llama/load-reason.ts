import { gpuFailure } from './gpu-failure.ts';

/**
 * Native code reports a failed load on its standard error, among much else. The most telling line of the last ones, as
 * the end of a sentence.
 */
export function loadReason(lines: readonly string[], fallback: string): string {
  const card = gpuFailure(lines);
  if (card) return card.reason;
  const telling = lines.filter((line) =>
    /error|failed|invalid|unknown|unsupported|unable|not enough|out of memory/i.test(line),
  );
  const best =
    telling.find((line) => /error loading model|unable to allocate|out of memory/i.test(line)) ?? telling.at(-1);
  return best === undefined ? fallback : best.replace(/^\s*(\w+:\s*)+(error loading model:\s*)?(?=\S)/, '').trim();
}
