/** Tokens that the rules are about. Numbers from `timestamps` on are times in steps of 20 ms. */
export interface TokenRoles {
  readonly end: number;
  readonly timestamps: number;
  readonly noTimestamps: number;
  /** Never written: signs for noise and music, special tokens. */
  readonly suppressed: readonly number[];
  /** Not written first: a space, the end. */
  readonly suppressedFirst: readonly number[];
}

export const secondsPerStep = 0.02;
/** A window starts within its first second. */
const latestFirstStep = 50;

/**
 * Sets the logits of tokens that may not follow to minus infinity: times stand in pairs around texts, do not go back, and come
 * when they are more likely together than any text.
 */
export function applyRules(logits: Float32Array, written: readonly number[], roles: TokenRoles): void {
  const { timestamps, end } = roles;
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= timestamps;
  for (const token of roles.suppressed) logits[token] = never;
  logits[roles.noTimestamps] = never;
  const last = written.at(-1);
  if (written.length === 0) {
    for (const token of roles.suppressedFirst) logits[token] = never;
    logits.fill(never, 0, timestamps);
    logits.fill(never, timestamps + latestFirstStep + 1);
  } else if (isTime(last)) {
    // After the first time, or after two, comes a text; after a text and a time another time, or the end.
    if (written.length === 1 || isTime(written.at(-2))) logits.fill(never, timestamps);
    else logits.fill(never, 0, end);
  }
  const latest = written.findLast(isTime);
  if (latest !== undefined) {
    // A segment has a length, but the next one may begin where it ends.
    const first = isTime(last) && !isTime(written.at(-2)) ? latest : latest + 1;
    logits.fill(never, timestamps, Math.min(first, logits.length));
  }
  if (timesWin(logits, timestamps)) logits.fill(never, 0, timestamps);
}

const never = Number.NEGATIVE_INFINITY;

/** Whether all times together are more likely than the likeliest text. */
function timesWin(logits: Float32Array, timestamps: number): boolean {
  let [text, time, sum] = [never, never, 0];
  for (let token = 0; token < timestamps; token++) text = Math.max(text, logits[token] as number);
  for (let token = timestamps; token < logits.length; token++) time = Math.max(time, logits[token] as number);
  if (time === never) return false;
  for (let token = timestamps; token < logits.length; token++) sum += Math.exp((logits[token] as number) - time);
  return time + Math.log(sum) > text;
}

/** Log probability of a token. */
export function logProbability(logits: Float32Array, token: number): number {
  let [most, sum] = [never, 0];
  for (const logit of logits) if (logit > most) most = logit;
  for (const logit of logits) sum += Math.exp(logit - most);
  return (logits[token] as number) - most - Math.log(sum);
}

/** The likeliest token; at a temperature a random one by probability, for a number from 0 to before 1. */
export function pick(logits: Float32Array, temperature: number, random: () => number): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  if (temperature <= 0) return best;
  const most = logits[best] as number;
  const weight = (logit: number): number => Math.exp((logit - most) / temperature);
  let rest = 0;
  for (const logit of logits) rest += weight(logit);
  rest *= random();
  for (let token = 0; token < logits.length; token++) {
    rest -= weight(logits[token] as number);
    if (rest < 0) return token;
  }
  return best;
}

interface TokenSegment {
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
  readonly tokens: readonly number[];
}

/** Splits the tokens of a window at their times. `decodedSeconds`: audio after it was cut off and must be recognised again. */
export function splitSegments(
  tokens: readonly number[],
  seconds: number,
  { timestamps }: TokenRoles,
): { readonly segments: readonly TokenSegment[]; readonly decodedSeconds: number } {
  const secondsOf = (token: number): number => Math.min((token - timestamps) * secondsPerStep, seconds);
  const isTime = (at: number): boolean => (tokens[at] ?? 0) >= timestamps;
  const segments: TokenSegment[] = [];
  let [start, from, latest] = [0, 0, 0];
  for (let at = 0; at < tokens.length; at++) {
    if (!isTime(at)) continue;
    const time = secondsOf(tokens[at] as number);
    if (at > from) segments.push({ start, end: Math.max(start, time), tokens: tokens.slice(from, at) });
    [start, from, latest] = [time, at + 1, time];
  }
  const open = tokens.slice(from);
  // A text without an end, or a segment that was begun only.
  const isCut = segments.length > 0 && (open.length > 0 || isTime(tokens.length - 2));
  if (open.length > 0 && !isCut) segments.push({ start, end: seconds, tokens: open });
  return { segments, decodedSeconds: isCut ? latest : seconds };
}
