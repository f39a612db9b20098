import { flushSync } from 'svelte';
import { call } from '../../api/call.ts';
import { sentenceOf } from '../../api/failure.ts';
import { pause, pollReply, type ReplyParts, resumeReply, streamReply } from '../../api/running-reply.ts';
import { server } from '../../app/server.svelte.ts';
import { dataUrlOf } from '../../files/data-url.ts';
import { newId } from '../../saved/id.ts';
import { acquire, hold } from '../../saved/ownership.ts';
import { settings } from '../../settings/settings.svelte.ts';
import { change, chatRecords, library, libraryLoaded, saveNow } from '../library.svelte.ts';
import type { Chat, Turn } from '../model/conversation.ts';
import { pathTo, withChange, withTurn } from '../model/tree.ts';
import { fittedPath, roomFor } from './context-fit.ts';
import { throttleToFrames } from './frame-throttle.ts';
import { mcp } from './mcp.svelte.ts';
import { type WireMessage, wireMessages } from './messages.ts';
import { modelName } from './model-list.ts';
import { chosenModel } from './models.svelte.ts';
import { chatReplies, noReply, type Reply, statisticsOf } from './reply.ts';
import { chatRequest } from './request.ts';
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

/** One tab fetches a reply; the others show what it tells them, and one of them goes on if it is closed. */
type TabMessage =
  | { readonly kind: 'watch' | 'stop'; readonly genkey: string }
  | { readonly kind: 'live'; readonly genkey: string; readonly chatId: string; readonly live: LiveReply };
const tabs = new BroadcastChannel('parley.replies');
/** Replies that this tab fetches, by key: what it shows, and whether other tabs show it too. */
const fetched = new Map<string, { chatId: string; watched: boolean; toldAt: number }>();
/** Replies that another tab fetches. */
const followed = new Map<string, { chatId: string; turnId: string; leave: AbortController }>();
const tellMs = 100;

tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => {
  const own = fetched.get(data.genkey);
  if (data.kind === 'live') {
    if (followed.has(data.genkey)) setLive(data.chatId, data.live);
  } else if (data.kind === 'stop' && own) stops.get(own.chatId)?.();
  else if (own) {
    own.watched = true;
    tell(data.genkey, lives[own.chatId]);
  }
};

function tell(genkey: string, live: LiveReply | undefined): void {
  const own = fetched.get(genkey);
  if (!own?.watched || !live) return;
  own.toldAt = Date.now();
  // Probabilities are large, and only shown at the end.
  const sent = { ...live, reply: { ...live.reply, chances: [] } };
  tabs.postMessage({ kind: 'live', genkey, chatId: own.chatId, live: sent } satisfies TabMessage);
}

function setLive(chatId: string, live: LiveReply | undefined): void {
  const { [chatId]: _, ...others } = lives;
  lives = live ? { ...others, [chatId]: live } : others;
}

chatRecords.onChange((id, _, origin) => {
  if (origin === 'tab') followPending(id);
});

/** Follows the running replies of a chat that other tabs have requested, and leaves those that have ended. */
function followPending(chatId: string): void {
  const turns = library.get(chatId)?.turns ?? {};
  for (const [genkey, { chatId: id, turnId, leave }] of followed)
    if (id === chatId && turns[turnId]?.pending?.genkey !== genkey) leave.abort();
  for (const turn of Object.values(turns)) if (turn.pending) void follow(chatId, turn, turn.pending.genkey);
}

/** Shows a reply that another tab fetches, and fetches it when no other tab does: after a reload, or if that tab closes. */
async function follow(chatId: string, turn: Turn, genkey: string): Promise<void> {
  if (fetched.has(genkey) || followed.has(genkey) || lives[chatId]) return;
  const leave = new AbortController();
  followed.set(genkey, { chatId, turnId: turn.id, leave });
  setLive(chatId, { turnId: turn.id, prefix: turn.pending?.prefix ?? '', reply: soFar(turn), status: '' });
  stops.set(chatId, () => {
    tabs.postMessage({ kind: 'stop', genkey } satisfies TabMessage);
    call('api/extra/abort', { body: { genkey }, background: true }).catch(() => {});
  });
  tabs.postMessage({ kind: 'watch', genkey } satisfies TabMessage);
  let release = () => {};
  try {
    release = await acquire(lockOf(genkey), leave.signal);
    const now = (await chatRecords.refresh(chatId))?.turns[turn.id];
    unfollow(genkey, chatId);
    if (now?.pending?.genkey === genkey)
      await deliver(chatId, now, (parts) => resumeReply(chatReplies, genkey, parts, soFar(now)));
  } catch {
    // The reply has ended.
    unfollow(genkey, chatId);
  } finally {
    release();
  }
  followPending(chatId);
}

function unfollow(genkey: string, chatId: string): void {
  followed.delete(genkey);
  stops.delete(chatId);
  setLive(chatId, undefined);
}

const lockOf = (genkey: string): string => `parley.reply.${genkey}`;

/** The stored text of a running reply. */
function soFar({ text, reasoning = '', pending }: Turn): Reply {
  return { ...noReply, text: text.slice(pending?.prefix.length ?? 0), reasoning };
}
const listeners = new Set<(chatId: string, turnId: string) => void>();

/** Calls the listener when a reply has ended and is in its chat. */
export function onFinished(listener: (chatId: string, turnId: string) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function liveReply(chatId: string): LiveReply | undefined {
  return lives[chatId];
}

export function systemOf(chat: Chat | undefined): string {
  return chat?.system ?? settings.systemPrompt;
}

/** Requests a reply to a turn. */
export async function requestReply(
  chatId: string,
  parent: string | null,
  { prefill = '', undoable = true } = {},
): Promise<void> {
  if (lives[chatId]) return;
  const turn: Turn = { id: newId(), parent, role: 'assistant', text: prefill, at: Date.now() };
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
  for (const { id } of library.chats) followPending(id);
}

/** The messages of a request, without turns that do not fit in the context. */
export async function messagesFor(chat: Chat, path: readonly Turn[]): Promise<WireMessage[]> {
  const system = systemOf(chat);
  const room = roomFor(server.context, settings.replyLength);
  const fitted = await fittedPath(path, { system, room, count: async (some) => countTokens(system, some) });
  return wireMessages(system, fitted, dataUrlOf);
}

async function countTokens(system: string, path: readonly Turn[]): Promise<number> {
  const messages = await wireMessages(system, path, dataUrlOf);
  const response = await call('v1/chat/completions/input_tokens', { body: { messages }, background: true });
  return ((await response.json()) as { input_tokens: number }).input_tokens;
}

async function write(chatId: string, turn: Turn, prefix: string, undoable: boolean): Promise<void> {
  const genkey = `PRLY${newId()}`;
  const started: Turn = { ...turn, pending: { genkey, since: Date.now(), prefix } };
  const release = hold(lockOf(genkey));
  change(chatId, (chat) => withChange(withTurn(chat, started), turn.id, { failed: undefined, finish: undefined }), {
    undoable,
  });
  await deliver(chatId, started, async (parts) => {
    // Saved before the request is sent: the key must be known after a reload.
    await saveNow(chatId);
    const chat = library.get(chatId);
    if (!chat) return noReply;
    const before = pathTo(chat, turn.parent);
    const continues = prefix.trim() !== '';
    const messages = await messagesFor(chat, continues ? [...before, { ...started, text: prefix }] : before);
    const streaming = settings.delivery === 'streaming';
    const body = chatRequest({
      messages,
      genkey,
      streaming,
      replyLength: settings.replyLength,
      sampling: settings.sampling,
      effort: settings.reasoningEffort,
      tools: wireTools(mcp.tools, chat.tools ?? []),
      probabilities: settings.showProbabilities,
      model: chosenModel(),
      continues,
    });
    return (streaming ? streamReply : pollReply)(chatReplies, body, parts);
  }).finally(release);
  followPending(chatId);
}

/** Shows a reply while it arrives and puts it into the chat at its end. */
async function deliver(
  chatId: string,
  turn: Turn,
  fetchReply: (parts: ReplyParts<Reply>) => Promise<Reply>,
): Promise<void> {
  const { genkey = '', since = Date.now(), prefix = '' } = turn.pending ?? {};
  const controller = new AbortController();
  let latest = noReply;
  let firstAt: number | undefined;
  let noted = Date.now();
  const show = (change: Partial<LiveReply>): void => {
    const live = lives[chatId] ?? { turnId: turn.id, prefix, reply: noReply, status: '' };
    setLive(chatId, { ...live, ...change });
  };
  fetched.set(genkey, { chatId, watched: false, toldAt: 0 });
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
    onStatus: (status) => {
      show({ status });
      tell(genkey, lives[chatId]);
    },
    onReply: (reply) => {
      latest = reply;
      if (firstAt === undefined && (reply.text !== '' || reply.reasoning !== '')) firstAt = Date.now();
      drawn();
      if (Date.now() - (fetched.get(genkey)?.toldAt ?? 0) >= tellMs)
        tell(genkey, { turnId: turn.id, prefix, reply, status: '' });
      if (Date.now() - noted < 3000) return;
      noted = Date.now();
      change(chatId, (chat) => withChange(chat, turn.id, { text: prefix + latest.text, ...thoughts(latest) }));
    },
  };
  let reply: Reply;
  try {
    reply = await fetchReply(parts);
  } catch (thrown) {
    reply = controller.signal.aborted
      ? { ...latest, finish: 'stopped' }
      : { ...latest, finish: 'error', failed: sentenceOf(thrown) };
  }
  stops.delete(chatId);
  fetched.delete(genkey);
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
  setLive(chatId, undefined);
  await saveNow(chatId);
  for (const listener of listeners) listener(chatId, turn.id);
}

function thoughts({ reasoning }: Reply): { reasoning?: string } {
  return reasoning === '' ? {} : { reasoning };
}
