import { notify, notifyFailure } from '../app/notices.svelte.ts';
import { server } from '../app/server.svelte.ts';
import { change, library } from '../chat/library.svelte.ts';
import type { Chat, Turn } from '../chat/model/conversation.ts';
import { pathOf } from '../chat/model/tree.ts';
import { estimateOf, roomFor } from '../chat/reply/context-fit.ts';
import { contextUse } from '../chat/reply/context-use.svelte.ts';
import { surroundingText } from '../chat/reply/prompt.svelte.ts';
import { settings } from '../settings/settings.svelte.ts';
import { hiddenReply } from './hidden-request.ts';
import { summarizedTurns } from './prompt.ts';
import { turnsToSummarize } from './summary.ts';
import { texts } from './texts.ts';

/** Ids of the chats that are being summarized. */
export const summarizing = $state<{ chats: readonly string[] }>({ chats: [] });

const words = 300;
const summaryTokens = 700;
/** Share of the room for the prompt at which a chat counts as full. */
const full = 0.8;

/** Summarizes the start of a chat when its context fills, if it is switched on. */
export async function summarizeIfFull(chatId: string): Promise<void> {
  const chat = library.get(chatId);
  if (!chat?.autoSummary || server.context <= 0) return;
  const path = pathOf(chat);
  const { used, dropped } = contextUse(surroundingText(chat, path), path, '', summarizedTurns(chat, path));
  if (dropped > 0 || used > roomFor(server.context, settings.replyLength) * full) await summarize(chatId);
}

/** Summarizes all but the last messages, together with the summary so far. `asked`: by the person, who is told if it is too short. */
export async function summarize(chatId: string, { asked = false } = {}): Promise<void> {
  const chat = library.get(chatId);
  if (!chat || summarizing.chats.includes(chatId)) return;
  const path = pathOf(chat);
  const room = roomFor(server.context, settings.replyLength);
  // On request as much as possible is summarized.
  const rest = asked ? 0 : room > 0 ? room / 3 : 1000;
  const count = turnsToSummarize(path.map(estimateOf), summarizedTurns(chat, path), rest);
  const upTo = path[count - 1];
  if (!upTo) {
    if (asked) notify(texts.chat.tooShort);
    return;
  }
  summarizing.chats = [...summarizing.chats, chatId];
  try {
    const text = await summaryOf(chat, path.slice(0, count));
    change(chatId, (now) => ({ ...now, summary: { text, upTo: upTo.id } }));
  } catch (thrown) {
    notifyFailure(thrown);
  } finally {
    summarizing.chats = summarizing.chats.filter((id) => id !== chatId);
  }
}

function summaryOf(chat: Chat, path: readonly Turn[]): Promise<string> {
  return hiddenReply(chat, path, { instruction: texts.prompt.summarize(words), replyLength: summaryTokens });
}
