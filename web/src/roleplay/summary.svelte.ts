import { texts } from '../characters/chat-texts.ts';
import { summarizedTurns } from '../characters/prompt.ts';
import { prompts } from '../characters/prompts.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { pathOf } from '../conversations/tree.ts';
import { server } from '../models/server.svelte.ts';
import { estimateOf, roomFor } from '../replies/context-fit.ts';
import { contextUse } from '../replies/context-use.svelte.ts';
import { surroundingText } from '../replies/prompt.svelte.ts';
import { settings } from '../settings/settings.svelte.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { hiddenReply } from './hidden-request.ts';
import { turnsToSummarize } from './summary.ts';

/** Ids of the chats that are being summarized. */
export const summarizing = $state<{ chats: readonly string[] }>({ chats: [] });

const words = 300;
const summaryTokens = 700;
/** Share of the room for the prompt at which a chat counts as full. */
const full = 0.8;

/** Summarizes the start of a chat when its context fills, if it is switched on. */
export async function summarizeIfFull(chatId: string): Promise<void> {
  const chat = chatRecords.find(chatId);
  if (!chat?.autoSummary || server.context <= 0) return;
  const path = pathOf(chat);
  const { used, dropped } = contextUse(surroundingText(chat, path), path, '', summarizedTurns(chat, path));
  if (dropped > 0 || used > roomFor(server.context, settings.replyLength) * full) await summarize(chatId);
}

/** Summarizes all but the last messages, together with the summary so far. `asked`: by the person, who is told if it is too short. */
export async function summarize(chatId: string, { asked = false } = {}): Promise<void> {
  const chat = chatRecords.find(chatId);
  if (!chat || summarizing.chats.includes(chatId)) return;
  const path = pathOf(chat);
  const room = roomFor(server.context, settings.replyLength);
  // On request as much as possible is summarized.
  const rest = asked ? 0 : room > 0 ? room / 3 : 1000;
  const count = turnsToSummarize(path.map(estimateOf), summarizedTurns(chat, path), rest);
  const upTo = path[count - 1];
  if (!upTo) {
    if (asked) notify(texts.tooShort);
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
  return hiddenReply(chat, path, { instruction: prompts.summarize(words), replyLength: summaryTokens });
}
