import { type Conversation, leadingSystem, type Message, withSystem } from './messages.ts';
import type { ChatRequest } from './request.ts';
import type { ChatService } from './service.ts';

/** What every chat begins with. */
export interface Opening {
  /** For conversations that have none; may be empty. */
  readonly systemPrompt: string;
  /** Before the messages of the conversation, after its system prompt. */
  readonly messages: readonly Message[];
  /** For the template, below those of the request. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The chats of a model, each with this opening. */
export function withOpening(chat: ChatService, opening: Opening): ChatService {
  const { systemPrompt, variables } = opening;
  const opened = (request: ChatRequest): ChatRequest => ({
    ...request,
    conversation: withSystem(withMessages(request.conversation, opening.messages), systemPrompt),
    templateVariables: { ...variables, ...request.templateVariables },
  });
  return {
    ...chat,
    reply: (request, context) => chat.reply(opened(request), context),
    replies: (request, context, count) => chat.replies(opened(request), context, count),
    render: (request, signal) => chat.render(opened(request), signal),
    countTokens: (request, signal, context) => chat.countTokens(opened(request), signal, context),
    thinksAnyway: (request) => chat.thinksAnyway(opened(request)),
  };
}

function withMessages(conversation: Conversation, added: readonly Message[]): Conversation {
  if (added.length === 0) return conversation;
  const { messages } = conversation;
  const start = leadingSystem(messages);
  return { ...conversation, messages: [...messages.slice(0, start), ...added, ...messages.slice(start)] };
}
