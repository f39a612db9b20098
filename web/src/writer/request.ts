import type { BuiltPrompt } from '../story/prompt.ts';
import { type Pending, type Story, textOf } from '../story/story.ts';

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
