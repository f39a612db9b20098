/** A passage of an earlier request, counted in tokens of its prompt and reply. */
export type Passage = readonly [request: number, from: number, length: number];

/** A request of a trace: which of its tokens earlier ones had, and how many are new. It has no texts. */
export interface RecordedRequest {
  /** It was sent after the end of that request; from the start without one. */
  readonly after?: number;
  readonly afterMs: number;
  readonly prompt: readonly (number | Passage)[];
  /** Tokens of the reply. */
  readonly reply: number;
}

/** What a server saw of a request, in the order of arrival; moments in milliseconds of one clock. */
export interface Exchange {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly prompt: readonly number[];
  readonly reply: number;
}

/** Shorter passages are common phrases. */
const minPassage = 24;

/** Describes requests by what they share. The tokens that a client sends back after a prompt are those of its reply. */
export function recordedRequests(exchanges: readonly Exchange[]): RecordedRequest[] {
  const earlier: (readonly number[])[] = [];
  const passages = new Map<string, Passage>();
  return exchanges.map((exchange, index) => {
    const prompt = passagesOf(exchange.prompt, earlier, passages);
    const next = exchanges.slice(index + 1).find((other) => startsWith(other.prompt, exchange.prompt));
    const end = exchange.prompt.length;
    const text = [...exchange.prompt, ...(next?.prompt.slice(end, end + exchange.reply) ?? [])];
    earlier.push(text);
    for (let from = 0; from + minPassage <= text.length; from += 1) {
      const key = text.slice(from, from + minPassage).join();
      if (!passages.has(key)) passages.set(key, [index, from, minPassage]);
    }
    const before = latestEnd(exchanges.slice(0, index), exchange.startedAt);
    const since = (before === undefined ? exchanges[0]?.startedAt : exchanges[before]?.endedAt) ?? 0;
    const afterMs = Math.round(exchange.startedAt - since);
    return { ...(before !== undefined && { after: before }), afterMs, prompt, reply: exchange.reply };
  });
}

function passagesOf(
  tokens: readonly number[],
  earlier: readonly (readonly number[])[],
  passages: ReadonlyMap<string, Passage>,
): (number | Passage)[] {
  const segments: (number | Passage)[] = [];
  let fresh = 0;
  for (let at = 0; at < tokens.length; ) {
    const passage = at === 0 ? longestPrefix(tokens, earlier) : continued(tokens, at, earlier, passages);
    if (!passage) {
      fresh += 1;
      at += 1;
      continue;
    }
    if (fresh > 0) segments.push(fresh);
    fresh = 0;
    segments.push(passage);
    at += passage[2];
  }
  return fresh > 0 ? [...segments, fresh] : segments;
}

function longestPrefix(tokens: readonly number[], earlier: readonly (readonly number[])[]): Passage | undefined {
  const lengths = earlier.map((text) => commonLength(tokens, 0, text, 0));
  const length = Math.max(0, ...lengths);
  return length === 0 ? undefined : [lengths.lastIndexOf(length), 0, length];
}

function continued(
  tokens: readonly number[],
  at: number,
  earlier: readonly (readonly number[])[],
  passages: ReadonlyMap<string, Passage>,
): Passage | undefined {
  const passage = passages.get(tokens.slice(at, at + minPassage).join());
  if (!passage) return undefined;
  const [request, from] = passage;
  return [request, from, commonLength(tokens, at, earlier[request] as readonly number[], from)];
}

function commonLength(a: readonly number[], fromA: number, b: readonly number[], fromB: number): number {
  let length = 0;
  while (fromA + length < a.length && a[fromA + length] === b[fromB + length]) length += 1;
  return length;
}

const startsWith = (text: readonly number[], prefix: readonly number[]) =>
  text.length > prefix.length && commonLength(text, 0, prefix, 0) === prefix.length;

/** The request that ended last before this moment. */
function latestEnd(exchanges: readonly Exchange[], moment: number): number | undefined {
  let latest: number | undefined;
  for (const [index, { endedAt }] of exchanges.entries()) {
    if (endedAt <= moment && endedAt > (exchanges[latest ?? -1]?.endedAt ?? Number.NEGATIVE_INFINITY)) latest = index;
  }
  return latest;
}

interface RecordedText {
  readonly prompt: readonly number[];
  readonly reply: readonly number[];
  readonly waitsFor: readonly number[];
}

/** Texts with the shared passages of the trace, each new token one that no other text has, and the requests that each one waits for. */
export function recordedTexts(requests: readonly RecordedRequest[]) {
  let next = 0;
  const fresh = (count: number) => Array.from({ length: count }, () => next++);
  const texts: RecordedText[] = [];
  for (const { after, prompt, reply } of requests) {
    const tokens = prompt.flatMap((part) => {
      if (typeof part === 'number') return fresh(part);
      const [request, from, length] = part;
      const source = texts[request] as RecordedText;
      return [...source.prompt, ...source.reply].slice(from, from + length);
    });
    // A client that continues a chat has its last reply, however long that takes here.
    const [first] = prompt;
    const continued = typeof first === 'object' && first[2] >= (texts[first[0]]?.prompt.length ?? 0) ? [first[0]] : [];
    const waitsFor = [...continued, ...(after === undefined ? [] : [after])];
    texts.push({ prompt: tokens, reply: fresh(reply), waitsFor });
  }
  return texts;
}
