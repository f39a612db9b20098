import type { InstructText } from '../../../chat/placeholders.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent, readFlag, readText } from '../../controls/fields.ts';
import type { DialectParts } from '../../dialect.ts';
import { nativeMedia } from '../../media.ts';
import { askedTokens, decodeCount, decodeOwnControls } from '../controls.ts';
import { optionalFlag, optionalInteger, optionalObject, wrong } from '../fields.ts';
import { decodePromptLogprobs } from '../prompt-logprobs.ts';
import { decodePrompts } from './prompt.ts';
import { gapFiller } from './suffix.ts';

export interface CompletionParts extends DialectParts {
  /** Marks that stand for the tags of whatever model is loaded become these tags. */
  readonly replacePlaceholders: (texts: InstructText) => InstructText;
}

export interface CompletionQuestion {
  /** One for each prompt; each is asked `candidates` times. */
  readonly requests: readonly GenerationRequest[];
  /** In front of each reply to the prompt at the same place. */
  readonly echoes: readonly string[];
  readonly replies: number;
  /** How many are generated for each prompt; the best of them are handed out. */
  readonly candidates: number;
  /** Nothing is to be written, and nothing to be known of the prompts but their lengths. */
  readonly countOnly: boolean;
  /** How many alternatives stand beside each token; undefined tells no figures. */
  readonly logprobs: number | undefined;
  /** The same for the tokens of the prompts, in a field of their own. */
  readonly promptLogprobs: number | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly timingsPerToken: boolean;
}

const mostAlternatives = 20;
/** What a bare `true` asks for: as many as this dialect ever knew. */
const usualAlternatives = 5;

export async function decodeCompletion(body: JsonObject, parts: CompletionParts): Promise<CompletionQuestion> {
  const prompts = await decodePrompts(body, parts.text);
  const controls = await decodeOwnControls(body, parts);
  const echo = optionalFlag(body, 'echo') ?? false;
  const logprobs = alternatives(body);
  const stream = optionalFlag(body, 'stream') ?? false;
  const promptLogprobs = decodePromptLogprobs(body, stream);
  // An echo with figures is a prompt with figures.
  const scored = scoredWith(promptLogprobs, echo ? logprobs : undefined);
  const silent = askedTokens(body) === 0;
  const asPrompt = await gapFiller(body, { prompts, scoredEcho: echo && logprobs !== undefined }, parts);
  const replies = decodeCount(body, 'n');
  const candidates = decodeCandidates(body, replies, stream);
  // The best can only be told by their figures.
  const counted = logprobs ?? (candidates > replies ? 0 : undefined);
  const streamOptions = optionalObject(body, 'stream_options') ?? {};
  const memory = readText(body, 'memory');
  const media = nativeMedia(body, parts.text.state());
  const replaces = readFlag(body, 'replace_instruct_placeholders', true);
  const requests = prompts.map(({ text, tokens }) => {
    const texts = { prompt: asPrompt(text), memory, stop: controls.stop };
    const written = replaces && !tokens ? parts.replacePlaceholders(texts) : texts;
    return {
      ...controls,
      ...written,
      ...(tokens && { promptTokens: tokens }),
      ...(silent && { maxTokens: 0 }),
      ...(scored !== undefined && { promptLogprobs: scored }),
      media,
      stop: written.stop.filter((stop) => stop !== ''),
      logprobs: counted,
    };
  });
  return {
    requests,
    // Figures belong to the text that the model read.
    echoes: prompts.map(({ text }, index) =>
      echo ? ((scored === undefined ? undefined : requests[index]?.prompt) ?? text) : '',
    ),
    replies,
    candidates,
    countOnly: silent && scored === undefined,
    logprobs,
    promptLogprobs,
    stream,
    includeUsage: optionalFlag(streamOptions, 'include_usage') ?? false,
    timingsPerToken: optionalFlag(body, 'timings_per_token') ?? false,
  };
}

function alternatives(body: JsonObject): number | undefined {
  const { logprobs } = body;
  if (isAbsent(logprobs) || logprobs === false) return undefined;
  if (logprobs === true) return usualAlternatives;
  const count = optionalInteger(body, 'logprobs') ?? 0;
  if (count < 0) throw wrong('logprobs', 'a whole number that is not negative');
  return Math.min(count, mostAlternatives);
}

function scoredWith(...counts: readonly (number | undefined)[]): number | undefined {
  const asked = counts.filter((count) => count !== undefined);
  return asked.length === 0 ? undefined : Math.max(...asked);
}

function decodeCandidates(body: JsonObject, replies: number, stream: boolean): number {
  if (isAbsent(body.best_of)) return replies;
  const candidates = decodeCount(body, 'best_of');
  // Clients send 1 for "not used" beside any n.
  if (candidates === 1) return replies;
  if (candidates < replies) throw wrong('best_of', 'at least as large as n');
  if (stream && candidates > replies) throw wrong('best_of', 'left out of streams: the best is known only at the end');
  return candidates;
}
