import type { InstructText } from '../../../chat/placeholders.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent, readFlag, readText } from '../../controls/fields.ts';
import type { DialectParts } from '../../dialect.ts';
import { nativeMedia } from '../../media.ts';
import { decodeCount, decodeOwnControls } from '../controls.ts';
import { unsupportedField } from '../errors.ts';
import { optionalFlag, optionalInteger, optionalObject, optionalText, wrong } from '../fields.ts';
import { decodePrompts } from './prompt.ts';

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
  /** Nothing is to be generated: the prompts are the replies. */
  readonly echoOnly: boolean;
  readonly logprobs: boolean;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly timingsPerToken: boolean;
}

const mostAlternatives = 20;
/** What a bare `true` asks for: as many as this dialect ever knew. */
const usualAlternatives = 5;

export async function decodeCompletion(body: JsonObject, parts: CompletionParts): Promise<CompletionQuestion> {
  if (optionalText(body, 'suffix')) {
    throw unsupportedField('suffix', 'filling in the middle is not there yet; send only the text before the gap');
  }
  const prompts = await decodePrompts(body, parts.text);
  const controls = await decodeOwnControls(body, parts);
  const echo = optionalFlag(body, 'echo') ?? false;
  const logprobs = alternatives(body);
  if (echo && logprobs !== undefined) {
    throw unsupportedField('echo', 'the figures of prompt tokens are not known, so it does not go with logprobs');
  }
  const stream = optionalFlag(body, 'stream') ?? false;
  const replies = decodeCount(body, 'n');
  const candidates = decodeCandidates(body, replies, stream);
  // The best can only be told by their figures.
  const counted = logprobs ?? (candidates > replies ? 0 : undefined);
  const streamOptions = optionalObject(body, 'stream_options') ?? {};
  const memory = readText(body, 'memory');
  const media = nativeMedia(body, parts.text.state());
  const replaces = readFlag(body, 'replace_instruct_placeholders', true);
  return {
    requests: prompts.map((prompt) => {
      const texts = { prompt, memory, stop: controls.stop };
      const written = replaces ? parts.replacePlaceholders(texts) : texts;
      return { ...controls, ...written, media, stop: written.stop.filter((stop) => stop !== ''), logprobs: counted };
    }),
    echoes: prompts.map((prompt) => (echo ? prompt : '')),
    replies,
    candidates,
    echoOnly: echo && optionalInteger(body, 'max_tokens') === 0,
    logprobs: logprobs !== undefined,
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

function decodeCandidates(body: JsonObject, replies: number, stream: boolean): number {
  if (isAbsent(body.best_of)) return replies;
  const candidates = decodeCount(body, 'best_of');
  // Clients send 1 for "not used" beside any n.
  if (candidates === 1) return replies;
  if (candidates < replies) throw wrong('best_of', 'at least as large as n');
  if (stream && candidates > replies) throw wrong('best_of', 'left out of streams: the best is known only at the end');
  return candidates;
}
