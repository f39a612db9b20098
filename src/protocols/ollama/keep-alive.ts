import { type Read, wrong } from '../fields/readers.ts';

const unitMilliseconds: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const duration = /^[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;
const step = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g;

/**
 * How long the model is to stay loaded after this request, in milliseconds: nothing where the client does not care,
 * infinity for every negative time. A plain number is in seconds, also as a text, because some apps keep it in one.
 */
export const readKeepAlive: Read<number | undefined> = (value, path) => {
  if (value === '') return undefined;
  const milliseconds = typeof value === 'string' ? fromText(value.trim()) : fromNumber(value);
  if (Number.isNaN(milliseconds)) throw wrong(path, 'a duration such as "5m" or "1h30m", or a number of seconds');
  return milliseconds < 0 ? Number.POSITIVE_INFINITY : milliseconds;
};

function fromNumber(value: unknown): number {
  return typeof value === 'number' ? value * 1000 : Number.NaN;
}

function fromText(text: string): number {
  if (/^[+-]?\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!duration.test(text)) return Number.NaN;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(step)) total += Number(amount) * (unitMilliseconds[unit as string] ?? 0);
  return text.startsWith('-') ? -total : total;
}
