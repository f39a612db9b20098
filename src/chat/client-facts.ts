import type { ClientFacts } from '../core/clients.ts';
import { type Conversation, leadingSystem, type Message } from './messages.ts';

/** The length of the beginnings of texts that are compared. */
const headLength = 400;

/** What a conversation says about the program that sends it. */
export function clientFacts({ messages }: Pick<Conversation, 'messages'>): ClientFacts {
  const last = messages.at(-1);
  const lastText = last?.role === 'user' ? headsOf(last).at(-1) : undefined;
  return {
    system: messages.slice(0, leadingSystem(messages)).flatMap(headsOf),
    ...(lastText !== undefined && { lastText }),
  };
}

function headsOf({ content }: Message): readonly string[] {
  return content.flatMap((part) => (part.type === 'text' ? [part.text.slice(0, headLength)] : []));
}
