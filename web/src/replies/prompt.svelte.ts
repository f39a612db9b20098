import { read } from '../api/call.ts';
import type { ReplyFormat } from '../api/running-reply.ts';
import { loadCharacters } from '../characters/library.svelte.ts';
import {
  cleanedReply,
  frameText,
  namesPrompt,
  type PromptFrame,
  promptFrame,
  stopsOf,
  summarizedTurns,
} from '../characters/prompt.ts';
import { speakerAfter } from '../characters/speakers.ts';
import { calledName } from '../conversations/character.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { dataUrlOf } from '../files/data-url.ts';
import { server } from '../models/server.svelte.ts';
import { settings } from '../settings/settings.svelte.ts';
import type { PromptValues } from '../settings/values.ts';
import { estimateOf, fittedPath, roomFor } from './context-fit.ts';
import { castOf, frameContext, loadScripts, sentText } from './message-texts.svelte.ts';
import { type WireMessage, wireMessages } from './messages.ts';
import { chatReplies, namesReplies, type Reply } from './reply.ts';

/** The prompt of a reply: messages for the chat template of the model, or a text with names. */
export type Prompt = { readonly stops: readonly string[] } & (
  | { readonly form: 'template'; readonly messages: readonly WireMessage[] }
  | { readonly form: 'names'; readonly text: string }
);

interface PromptOptions {
  /** The character that speaks; that of the last turn if missing. */
  readonly speaker?: string | undefined;
  /** The last turn is the start of the reply. */
  readonly continues?: boolean;
  /** Instead of those of the settings, and of the system prompt of the chat. */
  readonly values?: Partial<PromptValues>;
  /** Changes what surrounds the messages. */
  readonly reframe?: (frame: PromptFrame) => PromptFrame;
}

export function frameOf(chat: Chat, path: readonly Turn[], speaker?: string, system?: string): PromptFrame {
  const cast = castOf(chat, speaker);
  if (system === undefined) return promptFrame(chat, path, cast, frameContext());
  const { system: _, ...plain } = chat;
  return promptFrame(plain, path, cast, { ...frameContext(), system });
}

/** All that is sent besides the messages, for estimates. */
export function surroundingText(chat: Chat | undefined, path: readonly Turn[]): string {
  if (!chat) return settings.systemPrompt;
  return frameText(frameOf(chat, path));
}

/** The prompt of the next reply, without what does not fit in the context. */
export async function promptFor(chat: Chat, path: readonly Turn[], options: PromptOptions = {}): Promise<Prompt> {
  const { speaker, continues = false, reframe = (frame) => frame, values = {} } = options;
  if (chat.characters?.length || chat.persona !== undefined) await loadCharacters();
  const frame = reframe(frameOf(chat, path, speaker, values.systemPrompt));
  const room = roomFor(server.context, settings.replyLength);
  await loadScripts(chat);
  const sent = withSentTexts(chat, path, continues).slice(
    Math.min(summarizedTurns(chat, path), Math.max(0, path.length - 1)),
  );
  const stops = stopsOf(chat, frame.cast, path, values.stopSequences ?? settings.stopSequences);
  // Examples are the first that is left out.
  const examples = room <= 0 || estimateOf({ text: frameText(frame) }) < room / 2;
  if (chat.promptForm === 'names' && frame.cast.speaker) {
    const begin = continues ? (sent.at(-1)?.text ?? '') : '';
    const make = (some: readonly Turn[]): string =>
      namesPrompt(frame, { path: continues ? some.slice(0, -1) : some, begin, examples });
    const fitted = await fittedPath(sent, {
      system: frameText(frame),
      room,
      count: async (some) => tokensOf('api/extra/tokencount', { prompt: make(some) }, 'value'),
    });
    return { form: 'names', text: make(fitted), stops };
  }
  const make = (some: readonly Turn[]): Promise<WireMessage[]> =>
    wireMessages(frame, some, dataUrlOf, { continues, examples });
  const fitted = await fittedPath(sent, {
    system: frameText(frame),
    room,
    count: async (some) => tokensOf('v1/chat/completions/input_tokens', { messages: await make(some) }, 'input_tokens'),
  });
  return { form: 'template', messages: await make(fitted), stops };
}

/** The start of a reply that is continued stays as it is. */
function withSentTexts(chat: Chat, path: readonly Turn[], continues: boolean): Turn[] {
  return path.map((turn, index) => {
    const depth = path.length - 1 - index;
    if (turn.role === 'tool' || turn.drawn !== undefined || (continues && depth === 0)) return turn;
    const text = sentText(chat, turn, depth);
    return text === turn.text ? turn : { ...turn, text };
  });
}

async function tokensOf(path: string, body: object, field: string): Promise<number> {
  return Number((await read<Record<string, unknown>>(path, { body, background: true }))[field]);
}

/** Who speaks in a new turn; undefined if nobody does. Chats without characters have no fields for it. */
export function speakerFields(
  chat: Chat | undefined,
  parent: string | null,
  asked: string | undefined,
): Pick<Turn, 'speaker' | 'name'> | undefined {
  const cast = castOf(chat, asked);
  if (!chat || cast.characters.length === 0) return {};
  const speaker =
    asked === undefined
      ? speakerAfter(chat, parent, { characters: cast.characters, random: Math.random })
      : cast.speaker;
  return speaker && { speaker: speaker.id, name: calledName(speaker) };
}

/** The API of a chat, by the form of its prompt. */
export function replyFormat(chat: Chat | undefined): ReplyFormat<Reply> {
  return chat?.promptForm === 'names' && castOf(chat).speaker ? namesReplies : chatReplies;
}

/** Removes from replies of characters what models add: their own name before it, and the speech of others after it. */
export function replyCleaner(chat: Chat | undefined, turn: Turn): (reply: Reply) => Reply {
  const cast = castOf(chat, turn.speaker);
  const { speaker } = cast;
  if (!chat || !speaker || turn.speaker === undefined) return (reply) => reply;
  const stops = stopsOf(chat, cast, [], []);
  const name = calledName(speaker);
  const raw = chat.promptForm === 'names';
  const begun = turn.pending?.prefix ?? '';
  return (reply) => {
    const text = cleanedReply(reply.text, name, stops);
    return { ...reply, text: raw && begun === '' ? text.trimStart() : text };
  };
}
