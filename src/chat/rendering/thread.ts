import { renderAll } from '../lost-turns.ts';
import type { Message } from '../messages.ts';
import { compileTemplate, type RenderedTemplate, type TemplateInput } from '../template.ts';
import { threadLimits } from '../template-limits.ts';

/** Messages to the thread: the conversation in pieces of JSON, then everything else. */
export type ToThread =
  | { readonly type: 'messages'; readonly json: string }
  | { readonly type: 'render'; readonly source: string; readonly input: TemplateInput };

export type FromThread =
  | { readonly type: 'rendered'; readonly rendered: RenderedTemplate }
  | { readonly type: 'failed'; readonly reason: string };

/** The work of a thread: renders one conversation. */
export function renderThread(answer: (message: FromThread) => void): (message: ToThread) => Promise<void> {
  const messages: Message[] = [];
  return async (message) => {
    if (message.type === 'messages') {
      for (const one of JSON.parse(message.json) as readonly Message[]) messages.push(one);
      return;
    }
    const { source, input } = message;
    try {
      const template = await compileTemplate(source, { limits: threadLimits });
      const conversation = { ...input.conversation, messages };
      answer({ type: 'rendered', rendered: renderAll(template, { ...input, conversation }) });
    } catch (error) {
      answer({ type: 'failed', reason: error instanceof Error ? error.message : String(error) });
    }
  };
}
