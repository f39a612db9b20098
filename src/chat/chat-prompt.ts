import type { ChatTags } from './adapters/adapter.ts';
import { type ChatPrompt, type FlatPromptOptions, flatPrompt } from './flat-prompt.ts';
import { renderAll } from './lost-turns.ts';
import type { Conversation } from './messages.ts';
import type { ChatTemplate, TemplateInput } from './template.ts';

export interface ChatPromptOptions extends FlatPromptOptions, Omit<TemplateInput, 'conversation'> {
  readonly tags: ChatTags;
  /** Those for a reply without thinking, where the format has any; undefined where the reply may think. */
  readonly silentTags?: ChatTags | undefined;
  /** The model's own template, when the server renders templates. */
  readonly template: ChatTemplate | undefined;
  /** Whether the template is trusted with tools too; otherwise such requests take the adapter. */
  readonly templateTools: boolean;
}

export interface ChatPromptResult extends ChatPrompt {
  readonly by: 'template' | 'adapter';
  readonly warnings: readonly string[];
}

/** The prompt of a chat: the model's template where it may and can be used, the adapter otherwise. */
export function chatPrompt(conversation: Conversation, options: ChatPromptOptions): ChatPromptResult {
  const { template, tags, silentTags } = options;
  const byAdapter = (warnings: readonly string[]): ChatPromptResult => ({
    by: 'adapter',
    ...flatPrompt(conversation, silentTags ?? tags, options),
    warnings,
  });
  if (template === undefined || !usesTemplate(conversation, options)) return byAdapter([]);
  try {
    const { prompt, warnings } = renderAll(template, { ...options, conversation });
    const told = warnings.map((warning) => `The chat template says: ${warning}`);
    return { by: 'template', prompt, memory: options.memory ?? '', stop: options.stop, warnings: told };
  } catch (error) {
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
