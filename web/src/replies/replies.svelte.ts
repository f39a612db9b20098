import { flushSync } from 'svelte';
import { abortGeneration, call } from '../api/call.ts';
import { sentenceOf } from '../api/failure.ts';
import { requestReply as fetchReply, pause, type ReplyContext, resumeReply } from '../api/running-reply.ts';
import { loadCharacters } from '../characters/library.svelte.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { pathOf, pathTo, withChange, withTurn } from '../conversations/tree.ts';
import { chosenModel } from '../models/models.svelte.ts';
import { server } from '../models/server.svelte.ts';
import { modelName } from '../models/status.ts';
import { tellDone } from '../notifications/tell-done.ts';
import { newId } from '../saved/id.ts';
import { acquire, hold } from '../saved/ownership.ts';
import { settings } from '../settings/settings.svelte.ts';
import { chatSettings, nativeSettings } from '../settings/state.svelte.ts';
import type { PromptValues, SamplerValues } from '../settings/values.ts';
import { mcp } from '../tools/mcp.svelte.ts';
import { wireTools } from '../tools/tools.ts';
import { throttleToFrames } from './frame-throttle.ts';
import { loadScripts, storedText } from './message-texts.svelte.ts';
import { promptFor, replyCleaner, replyFormat, speakerFields, surroundingText } from './prompt.svelte.ts';
import { noReply, type Reply, statisticsOf } from './reply.ts';
import { chatRequest, namesRequest } from './request.ts';

/** A running reply. */
export interface LiveReply {
  readonly chatId: string;
  readonly turnId: string;
  readonly prefix: string;
  readonly reply: Reply;
  readonly status: string;
}

/** By turn. A chat has several only while they are compared. */
let lives = $state.raw<Readonly<Record<string, LiveReply>>>({});
const stops = new Map<string, { readonly chatId: string; readonly stop: () => void }>();

/** One tab fetches a reply; the others show what it tells them, and one of them goes on if it is closed. */
type TabMessage =
  | { readonly kind: 'watch' | 'stop'; readonly genkey: string }
  | { readonly kind: 'live'; readonly genkey: string; readonly live: LiveReply };
const tabs = new BroadcastChannel('parley.replies');
/** Replies that this tab fetches, by key: what it shows, and whether other tabs show it too. */
const fetched = new Map<string, { turnId: string; watched: boolean; toldAt: number }>();
/** Replies that another tab fetches. */
const followed = new Map<string, { chatId: string; turnId: string; leave: AbortController }>();
const tellMs = 100;
/** Text that has arrived is stored after this time at the latest. */
const storeMs = 3000;

tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => {
  const own = fetched.get(data.genkey);
  if (data.kind === 'live') {
    if (followed.has(data.genkey)) setLive(data.live.turnId, data.live);
  } else if (data.kind === 'stop' && own) stops.get(own.turnId)?.stop();
  else if (own) {
    own.watched = true;
    tell(data.genkey, lives[own.turnId]);
  }
};

function tell(genkey: string, live: LiveReply | undefined): void {
  const own = fetched.get(genkey);
  if (!own?.watched || !live) return;
  own.toldAt = Date.now();
  // Probabilities are large, and only shown at the end.
  const sent = { ...live, reply: { ...live.reply, chances: [] } };
  tabs.postMessage({ kind: 'live', genkey, live: sent } satisfies TabMessage);
}

function setLive(turnId: string, live: LiveReply | undefined): void {
  const { [turnId]: _, ...others } = lives;
  lives = live ? { ...others, [turnId]: live } : others;
}

chatRecords.onChange((id, _, origin) => {
  if (origin === 'tab') followPending(id);
});

/** Follows the running replies of a chat that other tabs have requested, and leaves those that have ended. */
function followPending(chatId: string): void {
  const turns = chatRecords.find(chatId)?.turns ?? {};
  for (const [genkey, { chatId: id, turnId, leave }] of followed)
    if (id === chatId && turns[turnId]?.pending?.genkey !== genkey) leave.abort();
  for (const turn of Object.values(turns)) if (turn.pending) void follow(chatId, turn, turn.pending.genkey);
}

/** Shows a reply that another tab fetches, and fetches it when no other tab does: after a reload, or if that tab closes. */
async function follow(chatId: string, turn: Turn, genkey: string): Promise<void> {
  if (fetched.has(genkey) || followed.has(genkey) || lives[turn.id]) return;
  const leave = new AbortController();
  followed.set(genkey, { chatId, turnId: turn.id, leave });
  setLive(turn.id, { chatId, turnId: turn.id, prefix: turn.pending?.prefix ?? '', reply: soFar(turn), status: '' });
  const stop = (): void => {
    tabs.postMessage({ kind: 'stop', genkey } satisfies TabMessage);
    abortGeneration(genkey);
  };
  stops.set(turn.id, { chatId, stop });
  tabs.postMessage({ kind: 'watch', genkey } satisfies TabMessage);
  let release = () => {};
  try {
    release = await acquire(lockOf(genkey), leave.signal);
    const chat = await chatRecords.refresh(chatId);
    const now = chat?.turns[turn.id];
    unfollow(genkey, turn.id);
    if (chat && now?.pending?.genkey === genkey) {
      if (now.speaker !== undefined) await loadCharacters();
      await deliver(chatId, now, (context) => resumeReply(replyFormat(chat), genkey, context, soFar(now)));
    }
  } catch {
    // The reply has ended.
    unfollow(genkey, turn.id);
  } finally {
    release();
  }
  followPending(chatId);
}

function unfollow(genkey: string, turnId: string): void {
  followed.delete(genkey);
  stops.delete(turnId);
  setLive(turnId, undefined);
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
  return Object.values(lives).find((live) => live.chatId === chatId);
}

export function liveTurn(turnId: string): LiveReply | undefined {
  return lives[turnId];
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
  if (liveReply(chatId)) return;
  if (chatRecords.find(chatId)?.characters?.length) await loadCharacters();
  const speaks = speakerFields(chatRecords.find(chatId), parent, speaker);
  if (!speaks || liveReply(chatId)) return;
  const turn: Turn = { id: newId(), parent, role: 'assistant', text: prefill, at: Date.now(), ...speaks };
  await write(chatId, turn, prefill, undoable);
}

/** Continues a reply. */
export async function continueReply(chatId: string, id: string): Promise<void> {
  const turn = chatRecords.find(chatId)?.turns[id];
  if (turn && !liveReply(chatId)) await write(chatId, turn, turn.text, true);
}

export async function stop(chatId: string): Promise<void> {
  for (const one of [...stops.values()]) if (one.chatId === chatId) one.stop();
}

/** Resumes running replies after a reload. */
export async function resumeAll(): Promise<void> {
  await chatRecords.load();
  for (const { id } of chatRecords.all) followPending(id);
}

/** What a reply is generated with instead of the settings. */
export interface Generation {
  readonly model?: string;
  readonly samplers?: Partial<SamplerValues>;
  readonly prompt?: Partial<PromptValues>;
}

/**
 * Requests several replies to a message at once; the server computes them together, or one after the other. `put` adds their
 * turns to the chat. Tools are not offered.
 */
export async function requestReplies(
  chatId: string,
  parent: string | null,
  generations: readonly Generation[],
  put: (chat: Chat, turns: readonly Turn[]) => Chat,
  { undoable }: Required<Pick<RequestOptions, 'undoable'>>,
): Promise<void> {
  if (chatRecords.find(chatId)?.characters?.length) await loadCharacters();
  const speaks = speakerFields(chatRecords.find(chatId), parent, undefined);
  if (!speaks || liveReply(chatId)) return;
  const at = Date.now();
  const turns = generations.map((_, index): Turn => {
    const pending = { genkey: `PRLY${newId()}`, since: at, prefix: '' };
    return { id: newId(), parent, role: 'assistant', text: '', at: at + index, pending, ...speaks };
  });
  const releases = turns.map(({ pending }) => hold(lockOf(pending?.genkey ?? '')));
  change(chatId, (chat) => put(chat, turns), { undoable });
  // What goes with the message is looked for once.
  let prepared: Promise<void> | undefined;
  const prepare = (context: ReplyContext<Reply>): Promise<void> =>
    (prepared ??= prepareMessage(chatId, parent, context));
  await Promise.all(
    turns.map((turn, index) =>
      generate(chatId, turn, { generation: generations[index], prepare }).finally(releases[index]),
    ),
  );
  followPending(chatId);
}

async function write(chatId: string, turn: Turn, prefix: string, undoable: boolean): Promise<void> {
  const genkey = `PRLY${newId()}`;
  const started: Turn = { ...turn, pending: { genkey, since: Date.now(), prefix } };
  const release = hold(lockOf(genkey));
  change(chatId, (chat) => withChange(withTurn(chat, started), turn.id, { failed: undefined, finish: undefined }), {
    undoable,
  });
  await generate(chatId, started).finally(release);
  followPending(chatId);
}

/** Finds what goes with a message: passages, results of a search, memories. */
async function prepareMessage(chatId: string, turnId: string | null, context: ReplyContext<Reply>): Promise<void> {
  const { retrieve } = await import('../documents/retrieve.ts');
  await retrieve(chatId, turnId, context);
  if (settings.useMemories && server.features.memories) {
    const { recall } = await import('../memories/recall.ts');
    await recall(chatId, turnId, context.signal);
  }
}

interface GenerateOptions {
  readonly generation?: Generation | undefined;
  readonly prepare?: (context: ReplyContext<Reply>) => Promise<void>;
}

/** Generates the reply of a turn that is in the chat. */
async function generate(chatId: string, turn: Turn, { generation, prepare }: GenerateOptions = {}): Promise<void> {
  const { genkey = '', prefix = '' } = turn.pending ?? {};
  const { model, samplers, prompt: values } = generation ?? {};
  await deliver(chatId, turn, async (context) => {
    // Saved before the request is sent: the key must be known after a reload.
    await chatRecords.flush(chatId);
    await (prepare?.(context) ?? prepareMessage(chatId, turn.parent, context));
    const chat = chatRecords.find(chatId);
    if (!chat) return noReply;
    const before = pathTo(chat, turn.parent);
    const continues = prefix.trim() !== '';
    const path = continues ? [...before, { ...turn, text: prefix }] : before;
    const prompt = await promptFor(chat, path, { speaker: turn.speaker, continues, ...(values && { values }) });
    const other = { ...samplers, ...(values?.stopSequences && { stopSequences: values.stopSequences }) };
    const common = {
      genkey,
      replyLength: samplers?.replyLength === undefined ? settings.replyLength : (samplers.replyLength ?? Number.NaN),
      sampling: prompt.form === 'names' ? await nativeSettings(other) : chatSettings(other),
      probabilities: settings.showProbabilities,
      model: model ?? chosenModel(),
      stops: prompt.stops,
    };
    const body =
      prompt.form === 'names'
        ? namesRequest({ ...common, prompt: prompt.text, context: server.context })
        : chatRequest({
            ...common,
            messages: prompt.messages,
            effort: settings.reasoningEffort,
            tools: generation ? [] : wireTools(mcp.tools, chat.tools ?? []),
            continues,
          });
    return fetchReply(replyFormat(chat), body, context);
  });
}

/** Shows a reply while it arrives and puts it into the chat at its end. */
async function deliver(
  chatId: string,
  turn: Turn,
  arrive: (context: ReplyContext<Reply>) => Promise<Reply>,
): Promise<void> {
  const { genkey = '', since = Date.now(), prefix = '' } = turn.pending ?? {};
  const controller = new AbortController();
  let cleaner: ((reply: Reply) => Reply) | undefined;
  const cleaned = (reply: Reply): Reply => {
    cleaner ??= replyCleaner(chatRecords.find(chatId), turn);
    return cleaner(reply);
  };
  let latest = soFar(turn);
  let firstAt: number | undefined;
  let storing: ReturnType<typeof setTimeout> | undefined;
  const store = (): void => {
    if (storing === undefined) return;
    clearTimeout(storing);
    storing = undefined;
    change(chatId, (chat) => withChange(chat, turn.id, { text: prefix + latest.text, ...thoughts(latest) }));
  };
  // Before the records look for what is not saved.
  addEventListener('pagehide', store, { capture: true });
  const show = (change: Partial<LiveReply>): void => {
    const live = lives[turn.id] ?? { chatId, turnId: turn.id, prefix, reply: latest, status: '' };
    setLive(turn.id, { ...live, ...change });
  };
  fetched.set(genkey, { turnId: turn.id, watched: false, toldAt: 0 });
  // Chunks may arrive hundreds of times per second; the page renders at most once per frame.
  const drawn = throttleToFrames(() => {
    if (lives[turn.id]) flushSync(() => show({ reply: latest, status: '' }));
  });
  show({});
  const stop = (): void => {
    abortGeneration(genkey);
    controller.abort();
  };
  stops.set(turn.id, { chatId, stop });
  const context: ReplyContext<Reply> = {
    call,
    wait: pause,
    signal: controller.signal,
    polling: settings.delivery === 'polling',
    onStatus: (status) => {
      show({ status });
      tell(genkey, lives[turn.id]);
    },
    onReply: (arrived) => {
      const reply = cleaned(arrived);
      latest = reply;
      if (firstAt === undefined && (reply.text !== '' || reply.reasoning !== '' || reply.calls.length > 0))
        firstAt = Date.now();
      drawn();
      if (Date.now() - (fetched.get(genkey)?.toldAt ?? 0) >= tellMs)
        tell(genkey, { chatId, turnId: turn.id, prefix, reply, status: '' });
      storing ??= setTimeout(store, storeMs);
    },
  };
  let reply: Reply;
  try {
    reply = cleaned(await arrive(context));
  } catch (thrown) {
    reply = controller.signal.aborted
      ? { ...latest, finish: 'stopped' }
      : { ...latest, finish: 'error', failed: sentenceOf(thrown) };
  }
  removeEventListener('pagehide', store, { capture: true });
  clearTimeout(storing);
  await loadScripts(chatRecords.find(chatId));
  const written = storedText(chatRecords.find(chatId), turn, reply.text);
  stops.delete(turn.id);
  fetched.delete(genkey);
  const statistics = statisticsOf(reply, { startedAt: since, firstAt, endedAt: Date.now() });
  change(chatId, (chat) =>
    withChange(chat, turn.id, {
      pending: undefined,
      text: prefix + written,
      ...thoughts(reply),
      calls: reply.calls.length > 0 ? reply.calls : undefined,
      chances: reply.chances.length > 0 ? reply.chances : undefined,
      finish: reply.finish ?? 'stop',
      failed: reply.failed,
      model: modelName(reply.model ?? server.model),
      statistics: reply.tokens > 0 ? statistics : undefined,
    }),
  );
  setLive(turn.id, undefined);
  await chatRecords.flush(chatId);
  for (const listener of listeners) listener(chatId, turn.id);
  tellDone(() => {
    const title = chatRecords.find(chatId)?.title || document.title;
    return { kind: reply.failed === undefined ? 'reply' : 'failed', title, route: { view: 'chat', id: chatId }, since };
  });
}

function thoughts({ reasoning }: Reply): { reasoning?: string } {
  return reasoning === '' ? {} : { reasoning };
}
