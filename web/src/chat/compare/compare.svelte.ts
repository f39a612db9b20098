import { withFields } from '../../conversations/character.ts';
import type { Chat, Turn } from '../../conversations/conversation.ts';
import { change, chatOrNew, chatRecords } from '../../conversations/library.svelte.ts';
import { leafOf, withChosen, withTurn } from '../../conversations/tree.ts';
import { loadScripts } from '../../replies/message-texts.svelte.ts';
import { sendNext } from '../../replies/queue.svelte.ts';
import { type Generation, requestReplies } from '../../replies/replies.svelte.ts';
import { userTurn } from '../../replies/user-turn.ts';
import { persistedState } from '../../saved/persisted-state.svelte.ts';
import { presets } from '../../settings/presets.svelte.ts';
import { builtInPresets } from '../../settings/sampler-panel.ts';
import { go } from '../../ui/navigation.svelte.ts';
import { cancelTitles } from '../titles/model-titles.ts';
import { type Candidate, shuffled, type Tally, tallied } from './comparison.ts';

/** What was compared last, and how often each was chosen in this browser. */
export const compared = persistedState<{
  candidates: readonly Candidate[];
  blind: boolean;
  tally: Readonly<Record<string, Tally>>;
}>('parley.compare', { candidates: [], blind: false, tally: {} });

export function generationOf({ model, preset: id }: Candidate): Generation {
  const preset = id === '' ? undefined : (builtInPresets.find((one) => one.id === id) ?? presets.find(id));
  const { samplers, prompt } = $state.snapshot(preset ?? {}) as Generation;
  return { ...(model !== '' && { model }), ...(samplers && { samplers }), ...(prompt && { prompt }) };
}

/** The message that is answered again if there is no new one. */
export function lastAsked(chat: Chat | undefined): Turn | undefined {
  const last = chat && leafOf(chat);
  if (!chat || !last) return undefined;
  if (last.role === 'user') return last;
  const parent = chat.turns[last.parent ?? ''];
  return last.role === 'assistant' && parent?.role === 'user' ? parent : undefined;
}

/** Sends a message, or the last one again, to all candidates. */
export async function compare(
  chatId: string | undefined,
  text: string,
  candidates: readonly { readonly label: string; readonly generation: Generation }[],
  blind: boolean,
): Promise<void> {
  cancelTitles();
  await loadScripts(chatRecords.find(chatId));
  const chat = chatOrNew(chatId);
  const again = text === '' ? lastAsked(chat) : undefined;
  const turn = again ?? userTurn(leafOf(chat)?.id ?? null, { text }, chat);
  if (!again) change(chat.id, (now) => withTurn(now, turn), { undoable: true });
  go({ view: 'chat', id: chat.id }, { replace: chatId === undefined });
  const ordered = blind ? shuffled(candidates, Math.random) : candidates;
  const generations = ordered.map(({ generation }) => generation);
  const put = (now: Chat, turns: readonly Turn[]): Chat => ({
    // The first one is chosen until the person chooses.
    ...turns.toReversed().reduce(withTurn, now),
    comparison: {
      blind,
      candidates: turns.map(({ id }, index) => ({ id, label: ordered[index]?.label ?? '' })),
    },
  });
  // A new message and its replies are one step.
  await requestReplies(chat.id, turn.id, generations, put, { undoable: again !== undefined });
}

/** The chat goes on with this reply; the others stay as its versions. */
export function chooseReply(chatId: string, id: string): void {
  const candidates = chatRecords.find(chatId)?.comparison?.candidates ?? [];
  const winner = candidates.find((one) => one.id === id);
  if (winner)
    compared.tally = tallied(
      compared.tally,
      candidates.map(({ label }) => label),
      winner.label,
    );
  change(chatId, (chat) => withFields(withChosen(chat, id), { comparison: undefined }));
  sendNext(chatId);
}

export function endComparison(chatId: string): void {
  change(chatId, (chat) => withFields(chat, { comparison: undefined }));
  sendNext(chatId);
}
