import type { GenerationEvent } from '../core/events.ts';
import { inSlices } from '../core/slices.ts';
import type { ChatTags } from './adapters/adapter.ts';
import { type ChatPrompt, type FlatPromptOptions, flatPrompt } from './flat-prompt.ts';
import type { Conversation } from './messages.ts';
import type { PromptTemplate } from './rendering/prompt-template.ts';
import type { TemplateInput } from './template.ts';

export interface ChatPromptOptions extends FlatPromptOptions, Omit<TemplateInput, 'conversation'> {
  readonly tags: ChatTags;
  /** Those for a reply without thinking, where the format has any; undefined where the reply may think. */
  readonly silentTags?: ChatTags | undefined;
  /** The model's own template, when the server renders templates. */
  readonly template: PromptTemplate | undefined;
  /** Whether the template is trusted with tools too; otherwise such requests take the adapter. */
  readonly templateTools: boolean;
  /** Whoever goes away ends the work. */
  readonly signal?: AbortSignal;
}

export interface ChatPromptResult extends ChatPrompt {
  readonly by: 'template' | 'adapter';
  readonly warnings: readonly string[];
}

/** The prompt of a chat: the model's template where it may and can be used, the adapter otherwise. */
export async function chatPrompt(conversation: Conversation, options: ChatPromptOptions): Promise<ChatPromptResult> {
  const { template, tags, silentTags, signal } = options;
  const patience = signal ? { signal } : {};
  const byAdapter = async (warnings: readonly string[]): Promise<ChatPromptResult> => ({
    by: 'adapter',
    ...(await inSlices(flatPrompt(conversation, silentTags ?? tags, options), patience)),
    warnings,
  });
  if (template === undefined || !usesTemplate(conversation, options)) return byAdapter([]);
  try {
    const { prompt, warnings } = await template.render({ ...options, conversation }, signal);
    const told = warnings.map((warning) => `The chat template says: ${warning}`);
    return { by: 'template', prompt, memory: options.memory ?? '', stop: options.stop, warnings: told };
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    return byAdapter([`The chat template failed, so the chat adapter is used instead: ${reason}`]);
  }
}

/** Whether the template writes this prompt, as far as that is known before it has tried. */
export function usesTemplate(
  { tools }: Conversation,
  { template, templateTools }: Pick<ChatPromptOptions, 'template' | 'templateTools'>,
): boolean {
  return template !== undefined && (tools.length === 0 || templateTools);
}

export type Attempt = () => Promise<AsyncIterable<GenerationEvent>>;

/**
 * The generation of the first prompt that the context has room for, or what is said of the last one: for prompts that can
 * be told at length or in short.
 */
export async function* firstThatFits(attempts: readonly Attempt[]): AsyncGenerator<GenerationEvent> {
  for (const [index, attempt] of attempts.entries()) {
    const isLast = index === attempts.length - 1;
    let tooLong = false;
    for await (const event of await attempt()) {
      tooLong = !isLast && event.type === 'error' && event.error.code === 'context-overflow';
      if (!tooLong) yield event;
    }
    if (!tooLong) return;
  }
}
