import { type NativeEvent, type ReplyFormat, type ReplyState, withNativeEvent } from '../api/running-reply.ts';
import { texts } from '../api/texts.ts';
import type { BuiltPrompt } from '../story/prompt.ts';
import { type Choice, type Pending, type Story, textOf } from '../story/story.ts';

export interface StoryReply extends ReplyState {
  readonly warnings: readonly string[];
}

const empty: StoryReply = { text: '', finish: undefined, failed: undefined, warnings: [] };

/** Replies of the native API. */
export const storyReplies: ReplyFormat<StoryReply> = {
  path: 'api/extra/generate/stream',
  empty,
  withEvent: (reply, data) => {
    const event = JSON.parse(data) as NativeEvent;
    return { ...withNativeEvent(reply, event), warnings: event.warnings ?? reply.warnings };
  },
  gone: texts.reply.goneInStory,
};

interface Logprobs {
  readonly content?: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly top_logprobs: readonly { readonly token: string; readonly logprob: number }[];
  }[];
}

/** The tokens of the reply with their alternatives, without those of a stop sequence after its end. */
export function choicesOf(logprobs: Logprobs | null | undefined, reply: string): Choice[] {
  const choices: Choice[] = [];
  let length = 0;
  for (const { token, logprob, top_logprobs: top } of logprobs?.content ?? []) {
    if (length >= reply.length) break;
    length += token.length;
    const others = top.map((other) => ({ text: other.token, probability: Math.exp(other.logprob) }));
    choices.push({ text: token, probability: Math.exp(logprob), others });
  }
  return choices;
}

/** The text up to the token at this index, followed by another token. The tokens are those at the end of the text. */
export function textWithToken(text: string, choices: readonly Choice[], at: number, instead: string): string {
  const reply = choices.map((choice) => choice.text).join('');
  const before = choices
    .slice(0, at)
    .map((choice) => choice.text)
    .join('');
  // A saved reply may have lost its leading space, and what followed a stop sequence.
  const start = Math.max(0, text.lastIndexOf(reply.trim().slice(0, 200)));
  const trimmed = reply.length - reply.trimStart().length;
  const lost = text.slice(0, start).endsWith(reply.slice(0, trimmed)) ? 0 : trimmed;
  const begin = text.slice(0, start - (lost === 0 ? trimmed : 0));
  return begin + (before + instead).slice(lost);
}

interface ReplyOptions {
  /** Fields that the settings set, by the names of the native API. */
  readonly sampling: Readonly<Record<string, unknown>>;
  /** Besides those of the story. */
  readonly stops?: readonly string[];
  /** Not a number if the server decides. */
  readonly replyLength: number;
  readonly probabilities: boolean;
  /** 0 if unknown. */
  readonly context: number;
  /** For servers with several text models. */
  readonly model?: string | undefined;
}

/** The request body. */
export function replyRequest({ mode }: Story, built: BuiltPrompt, { key, stops }: Pending, options: ReplyOptions) {
  return {
    ...options.sampling,
    ...(options.model === undefined ? {} : { model: options.model }),
    prompt: built.prompt,
    memory: built.memory,
    ...(options.replyLength >= 1 ? { max_length: Math.floor(options.replyLength) } : {}),
    ...(options.context > 0 ? { max_context_length: options.context } : {}),
    stop_sequence: [...stops, ...(options.stops ?? [])],
    trim_stop: true,
    // Stories may contain such placeholders literally.
    replace_instruct_placeholders: mode === 'instruct',
    logprobs: options.probabilities,
    genkey: key,
  };
}

/** Joins prefill and reply. Turns have no leading space; story text has one only after text on the same line. */
export function joinedReply(story: Story, passage: string, begin: string, reply: string): string {
  if (begin !== '') return begin + reply;
  if (story.mode !== 'story') return reply.trimStart();
  const before = story.passages[story.passages.findIndex(({ id }) => id === passage) - 1];
  return before && !textOf(before).endsWith('\n') ? reply : reply.replace(/^ +/, '');
}
