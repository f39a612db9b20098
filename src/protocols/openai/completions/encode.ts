import { type GenerationEvent, type PromptToken, type TokenLogprob, unreachable } from '../../../core/events.ts';
import type { Generation } from '../../../core/fold.ts';
import { dataFrame } from '../../../http/sse.ts';
import { alignedLogprobs } from '../../logprob-alignment.ts';
import {
  type ChunkShape,
  chunkNotes,
  encodeFigures,
  encodeFinish,
  encodePromptLogprobs,
  encodeTokens,
  finishReasons,
  finite,
  warningsOf,
} from '../encode.ts';
import type { ChoiceWriter } from '../reply.ts';
import type { DecodedCompletion } from './decode.ts';

const beforeReply: ReadonlySet<GenerationEvent['type']> = new Set([
  'start',
  'warning',
  'prompt-progress',
  'prompt-logprobs',
]);

/** The chunks of one reply; `count` is the number of alternatives for each token, undefined without logprobs. */
export function completionChoice(shape: ChunkShape, echo: string, count: number | undefined): ChoiceWriter {
  const open = `${shape.head}"choices":[{"index":${shape.index},"text":`;
  const notes = chunkNotes(shape);
  const spoken = alignedLogprobs();
  let offset = characters(echo);
  const prompt: PromptToken[] = [];
  let begun = echo === '';

  function text(event: GenerationEvent & { type: 'text-delta' | 'reasoning-delta' }): string {
    const tokens = spoken(event);
    if (event.text === '') return '';
    const logprobs = tokens ? JSON.stringify(encodeLegacyLogprobs(tokens, offset)) : 'null';
    offset += characters(event.text);
    const piece = `${JSON.stringify(event.text)},"logprobs":${logprobs}`;
    return `data: ${open}${piece},"finish_reason":null}]${notes.middle(event)}}\n\n`;
  }

  function write(event: Parameters<ChoiceWriter>[0]): string {
    switch (event.type) {
      case 'start':
      case 'warning':
        notes.take(event);
        return '';
      case 'text-delta':
      case 'reasoning-delta':
        return text(event);
      case 'server-tool':
        return '';
      case 'prompt-logprobs':
        prompt.push(...event.tokens);
        return '';
      // Completions have no tools.
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
      case 'compacting':
      case 'prompt-progress':
        return '';
      case 'finish': {
        const finish = encodeFinish(finishReasons[event.reason], event);
        return dataFrame(`${open}"","logprobs":null,${JSON.stringify(finish).slice(1)}]${notes.last(event)}}`);
      }
      default:
        return unreachable(event);
    }
  }

  /** The prompt comes before the reply; with logprobs it is complete only when the first event of the reply arrives. */
  function echoed(type: GenerationEvent['type']): string {
    if (begun || (count !== undefined && beforeReply.has(type))) return '';
    begun = true;
    const logprobs = count === undefined ? null : encodeLegacyLogprobs([], 0, echoedTokens(prompt, echo, count));
    return dataFrame(`${open}${JSON.stringify(echo)},"logprobs":${JSON.stringify(logprobs)},"finish_reason":null}]}`);
  }

  return (event) => {
    const note = notes.before(event);
    const before = note === '' ? '' : `data: ${open}"","logprobs":null,"finish_reason":null}]${note}}\n\n`;
    return before + echoed(event.type) + write(event);
  };
}

export function encodeCompletion(
  generations: readonly Generation[],
  { echoes, replies, candidates, logprobs, promptLogprobs }: DecodedCompletion,
): object {
  const choices = echoes.flatMap((echo, prompt) => {
    const group = generations.slice(prompt * candidates, (prompt + 1) * candidates);
    // Only the first one has the logprobs of the prompt, which are the same for all.
    const scored = group[0]?.promptLogprobs ?? [];
    const echoed = echo === '' || logprobs === undefined ? [] : echoedTokens(scored, echo, logprobs);
    return best(group, replies).map((generation) => ({
      text: echo + generation.reasoning + generation.text,
      logprobs: logprobs === undefined ? null : encodeLegacyLogprobs(tokensOf(generation), 0, echoed),
      ...encodeFinish(finishReasons[generation.reason], generation),
      ...encodePromptLogprobs(scored, promptLogprobs),
    }));
  });
  return {
    choices: choices.map((choice, index) => ({ index, ...choice })),
    ...encodeFigures(generations, candidates),
    ...warningsOf(generations),
  };
}

/** Those with the highest mean logprob; if all are sent they stay in order. */
function best(generations: readonly Generation[], count: number): readonly Generation[] {
  if (generations.length <= count) return generations;
  return generations.toSorted((one, other) => likelihood(other) - likelihood(one)).slice(0, count);
}

function likelihood(generation: Generation): number {
  const tokens = tokensOf(generation);
  if (tokens.length === 0) return Number.NEGATIVE_INFINITY;
  return tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length;
}

/** In completions the reasoning is part of the text, and comes first. */
function tokensOf({ reasoningLogprobs, logprobs }: Generation): readonly TokenLogprob[] {
  return [...reasoningLogprobs, ...logprobs];
}

/** A token of the reply or of an echoed prompt, whose first token has no logprob. */
type EncodedToken = Omit<TokenLogprob, 'logprob'> & { readonly logprob: number | null };

/** In the forms of completions and of chats (`content`, reply only). `offset`: characters before the first token. */
export function encodeLegacyLogprobs(
  reply: readonly TokenLogprob[],
  offset: number,
  prompt: readonly EncodedToken[] = [],
): object {
  const tokens: readonly EncodedToken[] = [...prompt, ...reply];
  return {
    content: encodeTokens(reply),
    tokens: tokens.map(spelling),
    token_ids: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => (logprob === null ? null : finite(logprob))),
    top_logprobs: tokens.map(alternatives),
    text_offset: offsets(tokens, offset),
  };
}

/** The tokens of a prompt as the reply shows them: the first without logprob, and without a space of the tokenizer. */
export function echoedTokens(tokens: readonly PromptToken[], echo: string, count: number): readonly EncodedToken[] {
  const [first, ...rest] = tokens.filter(({ inPrompt }) => inPrompt);
  if (!first) return [];
  const beginning = textOf([first, ...rest.slice(0, 2)]);
  const spaced = !echo.startsWith(beginning) && ` ${echo}`.startsWith(beginning);
  const own = spaced ? { text: first.text.slice(1), bytes: first.bytes.slice(1) } : {};
  return [{ ...first, ...own, logprob: null }, ...rest].map((token) => ({ ...token, top: token.top.slice(0, count) }));
}

/** Without an incomplete character at the end. */
function textOf(tokens: readonly EncodedToken[]): string {
  return new TextDecoder().decode(Uint8Array.from(tokens.flatMap(({ bytes }) => bytes)), { stream: true });
}

/** Always includes the chosen token, also when it was not one of the best. */
function alternatives({ logprob, top, ...own }: EncodedToken): object | null {
  if (logprob === null) return null;
  const best = top.map((each) => [spelling(each), finite(each.logprob)]);
  return Object.fromEntries([...best, [spelling(own), finite(logprob)]]);
}

/** Tokens that are not whole characters are spelled as bytes, so that different ones do not look the same. */
function spelling({ text, bytes }: Pick<EncodedToken, 'text' | 'bytes'>): string {
  if (!text.includes('\ufffd') || Buffer.from(text).equals(Uint8Array.from(bytes))) return text;
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
}

/** A token that starts inside a character has the offset of that character. */
function offsets(tokens: readonly EncodedToken[], offset: number): readonly number[] {
  let begun = offset;
  return tokens.map(({ bytes }) => {
    const start = bytes.length > 0 && isInner(bytes[0] as number) ? begun - 1 : begun;
    begun += bytes.filter((byte) => !isInner(byte)).length;
    return Math.max(offset, start);
  });
}

const isInner = (byte: number): boolean => (byte & 0xc0) === 0x80;

export function characters(text: string): number {
  return [...text].length;
}
