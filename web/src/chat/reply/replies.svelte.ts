import { flushSync } from 'svelte';
import { call } from '../../api/call.ts';
import { sentenceOf } from '../../api/failure.ts';
import { pause, pollReply, type ReplyParts, resumeReply, streamReply } from '../../api/running-reply.ts';
import { server } from '../../app/server.svelte.ts';
import { loadCharacters } from '../../characters/library.svelte.ts';
import { retrieve } from '../../documents/retrieve.ts';
import { newId } from '../../saved/id.ts';
import { settings } from '../../settings/settings.svelte.ts';
import { chatSettings, nativeSettings } from '../../settings/state.svelte.ts';
import { change, library, libraryLoaded, note, saveNow } from '../library.svelte.ts';
import type { Chat, Turn } from '../model/conversation.ts';
import { pathOf, pathTo, withChange, withTurn } from '../model/tree.ts';
import { throttleToFrames } from './frame-throttle.ts';
import { mcp } from './mcp.svelte.ts';
import { modelName } from './model-list.ts';
import { chosenModel } from './models.svelte.ts';
import { promptFor, replyCleaner, replyFormat, speakerFields, surroundingText } from './prompt.svelte.ts';
import { noReply, type Reply, statisticsOf } from './reply.ts';
import { chatRequest, namesRequest } from './request.ts';
import { wireTools } from './tools.ts';

/** A running reply. */
export interface LiveReply {
  readonly turnId: string;
  readonly prefix: string;
  readonly reply: Reply;
  readonly status: string;
}

let lives = $state.raw<Readonly<Record<string, LiveReply>>>({});
const stops = new Map<string, () => void>();
const listeners = new Set<(chatId: string, turnId: string) => void>();

/** Calls the listener when a reply has ended and is in its chat. */
export function onFinished(listener: (chatId: string, turnId: string) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function liveReply(chatId: string): LiveReply | undefined {
  return lives[chatId];
}

/** The system prompt with all else that surrounds the messages, for estimates. */
export function systemOf(chat: Chat | undefined): string {
  return surroundingText(chat, chat ? pathOf(chat) : []);
}

export interface RequestOptions {
  readonly prefill?: string;
  readonly undoable?: boolean;
  /** The character that speaks; chosen by the turn order of the chat if missing. */
  readonly speaker?: string | undefined;
}

/** Requests a reply to a turn. */
export async function requestReply(
  chatId: string,
  parent: string | null,
  { prefill = '', undoable = true, speaker }: RequestOptions = {},
): Promise<void> {
  if (lives[chatId]) return;
  if (library.get(chatId)?.characters?.length) await loadCharacters();
  const speaks = speakerFields(library.get(chatId), parent, speaker);
  if (!speaks || lives[chatId]) return;
  const turn: Turn = { id: newId(), parent, role: 'assistant', text: prefill, at: Date.now(), ...speaks };
  await write(chatId, turn, prefill, undoable);
}

/** Continues a reply. */
export async function continueReply(chatId: string, id: string): Promise<void> {
  const turn = library.get(chatId)?.turns[id];
  if (turn && !lives[chatId]) await write(chatId, turn, turn.text, true);
}

export async function stop(chatId: string): Promise<void> {
  stops.get(chatId)?.();
}

/** Resumes running replies after a reload. */
export async function resumeAll(): Promise<void> {
  await libraryLoaded();
  for (const chat of library.chats) {
    const turn = Object.values(chat.turns).find(({ pending }) => pending !== undefined);
    if (turn?.pending && !lives[chat.id])
      void deliver(chat.id, turn, async (parts) => {
        if (turn.speaker !== undefined) await loadCharacters();
        return resumeReply(replyFormat(chat), turn.pending?.genkey ?? '', parts);
      });
  }
}

async function write(chatId: string, turn: Turn, prefix: string, undoable: boolean): Promise<void> {
  const genkey = `PRLY${newId()}`;
  const started: Turn = { ...turn, pending: { genkey, since: Date.now(), prefix } };
  change(chatId, (chat) => withChange(withTurn(chat, started), turn.id, { failed: undefined, finish: undefined }), {
    undoable,
  });
  await deliver(chatId, started, async (parts) => {
    // Saved before the request is sent: the key must be known after a reload.
    await saveNow(chatId);
    await retrieve(chatId, turn.parent, parts);
    const chat = library.get(chatId);
    if (!chat) return noReply;
    const before = pathTo(chat, turn.parent);
    const continues = prefix.trim() !== '';
    const path = continues ? [...before, { ...started, text: prefix }] : before;
    const prompt = await promptFor(chat, path, { speaker: turn.speaker, continues });
    const streaming = settings.delivery === 'streaming';
    const common = {
      genkey,
      replyLength: settings.replyLength,
      sampling: prompt.form === 'names' ? await nativeSettings() : chatSettings(),
      probabilities: settings.showProbabilities,
      model: chosenModel(),
      stops: prompt.stops,
    };
    const body =
      prompt.form === 'names'
        ? namesRequest({ ...common, prompt: prompt.text, context: server.context })
        : chatRequest({
            ...common,
            messages: prompt.messages,
            streaming,
            effort: settings.reasoningEffort,
            tools: wireTools(mcp.tools, chat.tools ?? []),
            continues,
          });
    return (streaming ? streamReply : pollReply)(replyFormat(chat), body, parts);
  });
}

/** Shows a reply while it arrives and puts it into the chat at its end. */
async function deliver(
  chatId: string,
  turn: Turn,
  fetchReply: (parts: ReplyParts<Reply>) => Promise<Reply>,
): Promise<void> {
  const { genkey = '', since = Date.now(), prefix = '' } = turn.pending ?? {};
  const controller = new AbortController();
  let cleaner: ((reply: Reply) => Reply) | undefined;
  const cleaned = (reply: Reply): Reply => {
    cleaner ??= replyCleaner(library.get(chatId), turn);
    return cleaner(reply);
  };
  let latest = noReply;
  let firstAt: number | undefined;
  let noted = Date.now();
  const show = (change: Partial<LiveReply>): void => {
    const live = lives[chatId] ?? { turnId: turn.id, prefix, reply: noReply, status: '' };
    lives = { ...lives, [chatId]: { ...live, ...change } };
  };
  // Chunks may arrive hundreds of times per second; the page renders at most once per frame.
  const drawn = throttleToFrames(() => {
    if (lives[chatId]) flushSync(() => show({ reply: latest, status: '' }));
  });
  show({});
  stops.set(chatId, () => {
    call('api/extra/abort', { body: { genkey }, background: true }).catch(() => {});
    controller.abort();
  });
  const parts: ReplyParts<Reply> = {
    call,
    wait: pause,
    signal: controller.signal,
    onStatus: (status) => show({ status }),
    onReply: (arrived) => {
      const reply = cleaned(arrived);
      latest = reply;
      if (firstAt === undefined && (reply.text !== '' || reply.reasoning !== '' || reply.calls.length > 0))
        firstAt = Date.now();
      drawn();
      if (Date.now() - noted < 3000) return;
      noted = Date.now();
      const chat = library.get(chatId);
      if (chat) note(withChange(chat, turn.id, { text: prefix + latest.text, ...thoughts(latest) }));
    },
  };
  let reply: Reply;
  try {
    reply = cleaned(await fetchReply(parts));
  } catch (thrown) {
    reply = controller.signal.aborted
      ? { ...latest, finish: 'stopped' }
      : { ...latest, finish: 'error', failed: sentenceOf(thrown) };
  }
  stops.delete(chatId);
  const { [chatId]: _, ...others } = lives;
  const statistics = statisticsOf(reply, { startedAt: since, firstAt, endedAt: Date.now() });
  change(chatId, (chat) =>
    withChange(chat, turn.id, {
      pending: undefined,
      text: prefix + reply.text,
      ...thoughts(reply),
      calls: reply.calls.length > 0 ? reply.calls : undefined,
      chances: reply.chances.length > 0 ? reply.chances : undefined,
      finish: reply.finish ?? 'stop',
      failed: reply.failed,
      model: modelName(reply.model ?? server.model),
      statistics: reply.tokens > 0 ? statistics : undefined,
    }),
  );
  lives = others;
  await saveNow(chatId);
  for (const listener of listeners) listener(chatId, turn.id);
}

function thoughts({ reasoning }: Reply): { reasoning?: string } {
  return reasoning === '' ? {} : { reasoning };
}
