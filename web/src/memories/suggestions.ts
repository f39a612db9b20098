import type { Chat } from '../conversations/conversation.ts';
import { pathOf } from '../conversations/tree.ts';
import { chosenModel } from '../models/models.svelte.ts';
import { server } from '../models/server.svelte.ts';
import { embeddedModel } from '../models/status.ts';
import { go } from '../ui/navigation.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { suggestMemories } from './memories.ts';
import { offered } from './offered.svelte.ts';
import { texts } from './texts.ts';

/** A shorter chat says little about a person. */
const minQuestions = 3;
/** By chat: how many questions it had when facts were looked for. */
const looked = new Map<string, number>();

export async function factsIn(chat: Chat): Promise<readonly string[]> {
  if (offered.chatId === chat.id && offered.facts.length > 0) return offered.facts;
  const messages = pathOf(chat).flatMap(({ role, text }) =>
    role !== 'tool' && text !== '' ? [{ role, content: text }] : [],
  );
  return suggestMemories(messages, chosenModel());
}

/** Looks for facts in a chat that was left, and offers to show them. The built-in model finds none. */
export async function suggestFor(chat: Chat): Promise<void> {
  const questions = pathOf(chat).filter(({ role }) => role === 'user').length;
  if (questions < minQuestions || looked.get(chat.id) === questions || server.model === embeddedModel) return;
  looked.set(chat.id, questions);
  const facts = await factsIn(chat).catch(() => []);
  if (facts.length === 0) return;
  Object.assign(offered, { chatId: chat.id, facts, open: false });
  const look = (): void => {
    offered.open = true;
    go({ view: 'chat', id: chat.id });
  };
  notify(texts.offer(chat.title), { action: { label: texts.look, run: look } });
}
