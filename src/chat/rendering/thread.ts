import { renderAll } from '../lost-turns.ts';
import type { Message } from '../messages.ts';
import { compileTemplate } from '../template.ts';
import { threadLimits } from '../template-runtime.ts';
import type { FromThread, MessagePiece, ToThread } from './messages.ts';

/** The work of a thread: one conversation, which comes in pieces. */
export function renderThread(answer: (message: FromThread) => void): (message: ToThread) => Promise<void> {
  const messages: Message[] = [];
  return async (message) => {
    if (message.type === 'messages') {
      for (const one of JSON.parse(message.json) as MessagePiece) messages.push(one);
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
