import { type Message, withMessages } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { ChatService } from '../../chat/service.ts';

/** Largest share of the context that is reserved for the reply. */
const replyShare = 0.25;

/** Drops the oldest messages until the rest fits, if the request allows it. What is still too long, the engine cuts. */
export async function fitConversation(
  request: ChatRequest,
  chat: Pick<ChatService, 'countTokens'>,
  contextSize: number,
): Promise<{ readonly request: ChatRequest; readonly droppedMessages: number }> {
  if (request.controls.overflow !== 'trim' || request.compaction) return { request, droppedMessages: 0 };
  const { messages } = request.conversation;
  const context = request.controls.maxContext ?? contextSize;
  const limit = context - Math.max(1, Math.min(request.controls.maxTokens, Math.floor(context * replyShare)));
  const shortened = (drop: number): ChatRequest => ({
    ...request,
    conversation: withMessages(request.conversation, withoutOldest(messages, drop)),
  });
  const steps = [0, ...beginnings(messages)];
  let low = 0;
  let high = steps.length;
  // Most conversations fit, so that the whole one is counted first.
  let middle = 0;
  while (low < high) {
    if ((await chat.countTokens(shortened(steps[middle] ?? 0))) <= limit) high = middle;
    else low = middle + 1;
    middle = (low + high) >> 1;
  }
  const fits = low < steps.length;
  const fitted = shortened(steps[Math.min(low, steps.length - 1)] ?? 0);
  return {
    request: fits ? { ...fitted, controls: { ...fitted.controls, overflow: 'refuse' } } : fitted,
    droppedMessages: messages.length - fitted.conversation.messages.length,
  };
}

/** Where a shortened conversation may start: never with a result whose call was dropped. */
function beginnings(messages: readonly Message[]): readonly number[] {
  return messages.flatMap(({ role }, index) => (index > 0 && role !== 'tool' && role !== 'system' ? [index] : []));
}

/** System messages are never dropped. */
function withoutOldest(messages: readonly Message[], drop: number): readonly Message[] {
  return messages.filter(({ role }, index) => index >= drop || role === 'system');
}
