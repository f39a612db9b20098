import { nextSpeaker, speakerInTurn } from '../characters/speakers.ts';
import type { Character } from '../conversations/character.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { leafOf, openComparison, pathTo } from '../conversations/tree.ts';
import { castOf } from '../replies/message-texts.svelte.ts';
import { sendNext } from '../replies/queue.svelte.ts';
import { onFinished, requestReply } from '../replies/replies.svelte.ts';
import { summarizeIfFull } from './summary.svelte.ts';

/** "X speaks now": this character replies to the last message, whatever the turn order. */
export async function speakNow(chatId: string, speaker: string): Promise<void> {
  const chat = chatRecords.find(chatId);
  if (chat) await requestReply(chatId, leafOf(chat)?.id ?? null, { speaker });
}

export function setMuted(chatId: string, character: string, muted: boolean): void {
  change(chatId, (chat) => {
    const others = (chat.muted ?? []).filter((id) => id !== character);
    return { ...chat, muted: muted ? [...others, character] : others };
  });
}

/** After a reply the next one of a group speaks, or the next message of the queue is sent; the start of a full chat is summarized. */
onFinished((chatId, turnId) => {
  const chat = chatRecords.find(chatId);
  const turn = chat?.turns[turnId];
  // Another version may be shown meanwhile.
  if (!chat || !turn || leafOf(chat)?.id !== turnId) return;
  if (turn.failed !== undefined || turn.finish === 'stopped' || turn.calls?.length) return;
  void summarizeIfFull(chatId).then(() => {
    const now = chatRecords.find(chatId);
    // Of replies that are compared, one is chosen first.
    if (!now || openComparison(now) || leafOf(now)?.id !== turnId) return;
    const path = pathTo(now, turnId);
    const group = (now.characters?.length ?? 0) > 1;
    const context = { characters: castOf(now).characters, random: Math.random };
    const speak = (next: Character | undefined): void => {
      if (next) void requestReply(chatId, turnId, { speaker: next.id, undoable: false });
    };
    const next = group ? nextSpeaker(now, path, context) : undefined;
    const visible = document.visibilityState === 'visible';
    if (next) speak(next);
    else if (!sendNext(chatId) && group && now.autoReply && visible) speak(speakerInTurn(now, path, context));
  });
});
