import { deflateSync } from 'node:zlib';
import { applyRules, logProbability, pick, type TokenRoles } from './rules.ts';

/** The state of the decoder after some tokens. Later states do not change it. */
export interface DecoderState {
  /** Of the token that follows; the caller may change them. */
  readonly logits: () => Float32Array;
  release(): void;
}

/** The decoder for one window of sound. */
export interface Decoder {
  begin(tokens: readonly number[], signal: AbortSignal): Promise<DecoderState>;
  next(state: DecoderState, token: number, signal: AbortSignal): Promise<DecoderState>;
}

interface Decoded {
  /** With times, without the end. */
  readonly tokens: readonly number[];
  /** Per token. */
  readonly averageLogprob: number;
  readonly temperature: number;
}

interface DecodeOptions {
  readonly roles: TokenRoles;
  /** Of the first attempt. */
  readonly temperature: number;
  readonly random: () => number;
  readonly textOf: (tokens: readonly number[]) => string;
  readonly signal: AbortSignal;
}

/** Half of the context; more is repetition. */
const maxTokens = 224;
/** A text that deflate makes so much smaller repeats itself. */
const maxCompression = 2.4;
const minLogprob = -1;
const temperatureStep = 0.2;

/**
 * The text of a window, from the state after its task. Begins with the likeliest tokens; a text that repeats itself or is
 * improbable is written again at higher temperatures, as by OpenAI's program. The best attempt counts if none is good.
 */
export async function decodeWindow(decoder: Decoder, start: DecoderState, options: DecodeOptions): Promise<Decoded> {
  let best: Decoded | undefined;
  for (const temperature of temperatures(options.temperature)) {
    const attempt = await write(decoder, start, { ...options, temperature });
    const repeats = compression(options.textOf(attempt.tokens)) > maxCompression;
    if (!repeats && attempt.averageLogprob >= minLogprob) return attempt;
    if (!repeats && (!best || attempt.averageLogprob > best.averageLogprob)) best = attempt;
  }
  return best ?? { tokens: [], averageLogprob: Number.NEGATIVE_INFINITY, temperature: 1 };
}

export function temperatures(first: number): readonly number[] {
  const count = Math.floor((1 - first) / temperatureStep + 1e-6) + 1;
  return Array.from({ length: Math.max(1, count) }, (_, index) => Math.min(1, first + index * temperatureStep));
}

/** How many times longer the text is than its compressed form. */
export function compression(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length / deflateSync(bytes).length;
}

async function write(decoder: Decoder, start: DecoderState, options: DecodeOptions): Promise<Decoded> {
  const { roles, temperature, random, signal } = options;
  const tokens: number[] = [];
  let [state, sum] = [start, 0];
  try {
    for (;;) {
      const logits = state.logits();
      applyRules(logits, tokens, roles);
      const token = pick(logits, temperature, random);
      sum += logProbability(logits, token);
      if (token === roles.end) break;
      tokens.push(token);
      if (tokens.length === maxTokens) break;
      const next = await decoder.next(state, token, signal);
      if (state !== start) state.release();
      state = next;
    }
    return { tokens, averageLogprob: sum / (tokens.length + 1), temperature };
  } finally {
    if (state !== start) state.release();
  }
}
