import { type Message, withMessages } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { ChatService } from '../../chat/service.ts';

export interface FitParts {
  readonly chat: Pick<ChatService, 'countTokens'>;
  readonly contextSize: number;
}

export interface FittedRequest {
  readonly request: ChatRequest;
  readonly droppedMessages: number;
}

/** Part of the context that stays free for the answer, however long a one was asked for. */
const replyShare = 0.25;

/**
 * For requests that may be shortened: leaves the oldest messages out until the rest fits, so that instructions stay and
 * no message is cut in its middle. What cannot be made to fit in this way is left to the engine, which cuts by tokens;
 * what fits is not to be cut once more for the sake of a long reply.
 */
export async function fitConversation(request: ChatRequest, { chat, contextSize }: FitParts): Promise<FittedRequest> {
  if (request.controls.overflow === 'refuse') return { request, droppedMessages: 0 };
  const { messages } = request.conversation;
  const context = request.controls.maxContext ?? contextSize;
  const room = context - Math.max(1, Math.min(request.controls.maxTokens, Math.floor(context * replyShare)));
  const shortened = (drop: number): ChatRequest => ({
    ...request,
    conversation: withMessages(request.conversation, withoutOldest(messages, drop)),
  });
  const steps = [0, ...beginnings(messages)];
  let low = 0;
  let high = steps.length;
  // The first look is at the whole: most conversations fit.
  let middle = 0;
  while (low < high) {
    if ((await chat.countTokens(shortened(steps[middle] ?? 0))) <= room) high = middle;
    else low = middle + 1;
    middle = (low + high) >> 1;
  }
  const fits = low < steps.length;
  const kept = shortened(steps[Math.min(low, steps.length - 1)] ?? 0);
  return {
    request: fits ? { ...kept, controls: { ...kept.controls, overflow: 'refuse' } } : kept,
    droppedMessages: messages.length - kept.conversation.messages.length,
  };
}

/** The places where a shortened conversation may begin: never with a result whose call is gone. */
function beginnings(messages: readonly Message[]): readonly number[] {
  return messages.flatMap(({ role }, index) => (index > 0 && role !== 'tool' && role !== 'system' ? [index] : []));
}

/** Messages of the system hold for the whole conversation, wherever they stand. */
function withoutOldest(messages: readonly Message[], drop: number): readonly Message[] {
  return messages.filter(({ role }, index) => index >= drop || role === 'system');
}
