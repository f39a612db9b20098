import type { BuiltPrompt } from '../story/prompt.ts';
import { type Pending, type Story, textOf } from '../story/story.ts';

export interface ReplyOptions {
  /** By the names of the native API. */
  readonly sampling: Readonly<Record<string, number>>;
  readonly replyLength: number;
  readonly probabilities: boolean;
  /** 0 where it is not known. */
  readonly context: number;
}

/** What the native API is asked for a reply; it goes on when the page is gone, and can be found again by its key. */
export function replyRequest({ mode }: Story, built: BuiltPrompt, { key, stops }: Pending, options: ReplyOptions) {
  return {
    ...options.sampling,
    prompt: built.prompt,
    memory: built.memory,
    max_length: options.replyLength,
    ...(options.context > 0 ? { max_context_length: options.context } : {}),
    stop_sequence: stops,
    trim_stop: true,
    // A story may speak of such marks without meaning them.
    replace_instruct_placeholders: mode === 'instruct',
    logprobs: options.probabilities,
    genkey: key,
    kcpp_extra_args: { keep_text_gen_on_disconnect: true },
  };
}

/** A message of a chat begins without the space that follows the name, and a paragraph of a story without one at all. */
export function joinedReply(story: Story, passage: string, begin: string, reply: string): string {
  if (begin !== '') return begin + reply;
  if (story.mode !== 'story') return reply.trimStart();
  const before = story.passages[story.passages.findIndex(({ id }) => id === passage) - 1];
  return before && !textOf(before).endsWith('\n') ? reply : reply.replace(/^ +/, '');
}
