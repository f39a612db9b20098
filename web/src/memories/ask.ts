import type { Chat } from '../conversations/conversation.ts';
import { notify, reported } from '../ui/notices.svelte.ts';
import { addMemory, characterOf } from './memories.ts';
import { factIn } from './said.ts';
import { texts } from './texts.ts';

/** Offers to remember what a message asks for. */
export function askToRemember(message: string, chat: Chat | undefined): void {
  const fact = factIn(message);
  if (fact === undefined) return;
  const remember = (): void =>
    void reported(async () => {
      await addMemory(fact, chat && characterOf(chat));
      notify(texts.kept);
    });
  notify(texts.ask(fact), { action: { label: texts.add, run: remember } });
}
