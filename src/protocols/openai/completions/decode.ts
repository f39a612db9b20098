import type { InstructText } from '../../../chat/placeholders.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { DialectParts } from '../../dialect.ts';
import { wrong } from '../../fields/readers.ts';
import { readFields } from '../../fields/table.ts';
import { nativeMedia } from '../../media.ts';
import { askedTokens, decodeOwnControls } from '../controls.ts';
import { decodePromptLogprobs } from '../prompt-logprobs.ts';
import { type CompletionFields, completionFields } from './fields.ts';
import { spellPrompts } from './prompt.ts';
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
  readonly genkey: string;
  readonly kept: boolean;
}

export async function decodeCompletion(body: JsonObject, parts: CompletionParts): Promise<CompletionQuestion> {
  const fields = readFields(completionFields, body);
  const { echo, logprobs, stream, memory, n: replies } = fields;
  const prompts = await spellPrompts(fields.prompt, parts.text);
  const controls = await decodeOwnControls(fields, body, parts);
  const promptLogprobs = decodePromptLogprobs(fields);
  // An echo with figures is a prompt with figures.
  const scored = scoredWith(promptLogprobs, echo ? logprobs : undefined);
  const silent = askedTokens(fields) === 0;
  const asPrompt = await gapFiller(fields.suffix, { prompts, scoredEcho: echo && logprobs !== undefined }, parts);
  const candidates = decodeCandidates(fields);
  // The best can only be told by their figures.
  const counted = logprobs ?? (candidates > replies ? 0 : undefined);
  const media = nativeMedia(fields, parts.text.state());
  const requests = prompts.map(({ text, tokens }) => {
    const texts = { prompt: asPrompt(text), memory, stop: controls.stop };
    const replaces = fields.replace_instruct_placeholders && !tokens;
    const written = replaces ? parts.replacePlaceholders(texts) : texts;
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
    includeUsage: fields.stream_options.include_usage,
    timingsPerToken: fields.timings_per_token ?? false,
    genkey: fields.genkey,
    kept: fields.kcpp_extra_args,
  };
}

function scoredWith(...counts: readonly (number | undefined)[]): number | undefined {
  const asked = counts.filter((count) => count !== undefined);
  return asked.length === 0 ? undefined : Math.max(...asked);
}

/** Clients send 1 for "not used" beside any n. */
function decodeCandidates({ best_of: candidates, n: replies, stream }: CompletionFields): number {
  if (candidates === 1) return replies;
  if (candidates < replies) throw wrong('best_of', 'at least as large as n');
  if (stream && candidates > replies) throw wrong('best_of', 'left out of streams: the best is known only at the end');
  return candidates;
}
