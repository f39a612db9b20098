import { memoryBlock } from '../../../src/core/memories.ts';
import { type PromptFrame, withInserted } from '../characters/prompt.ts';
import { prompts } from '../characters/prompts.ts';
import type { Attachment, Turn } from '../conversations/conversation.ts';
import { fenceFor, sourcesText } from '../documents/sources-text.ts';

/** A message of the chat API. */
export interface WireMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly WirePart[] | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

type WirePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
  | { readonly type: 'input_audio'; readonly input_audio: { readonly data: string; readonly format: string } };

/** The bytes of an attachment as a data URL. */
type ReadBlob = (blob: Blob) => Promise<string>;

interface WireOptions {
  /** The last turn is the start of the reply. */
  readonly continues?: boolean;
  /** Example dialogue of the character is sent. */
  readonly examples?: boolean;
}

/** The messages of a request. In a group the speaker is the assistant, and all others are the user. */
export async function wireMessages(
  frame: PromptFrame | string,
  path: readonly Turn[],
  read: ReadBlob,
  { continues = false, examples = true }: WireOptions = {},
): Promise<WireMessage[]> {
  const lastAsked = path.findLastIndex(({ role }) => role === 'user');
  const around = typeof frame === 'string' ? undefined : frame;
  const turns = await Promise.all(
    path.map((turn, index) => wireMessage(around ? spoken(turn, around) : turn, index > lastAsked, read)),
  );
  const begun = continues ? turns.splice(-1) : [];
  const system = around
    ? [around.system, examples ? around.examples : ''].filter(Boolean).join('\n\n')
    : (frame as string);
  const body = around
    ? [
        ...withInserted(turns, around.inserted, ({ text, role }): WireMessage => ({ role, content: text })),
        ...(around.after === '' ? [] : [{ role: 'system', content: around.after } as const]),
      ]
    : turns;
  // Chat templates need a message of the user; a chat may begin with a greeting.
  const silent = around?.cast.speaker !== undefined && !body.some(({ role }) => role === 'user');
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
    ...(silent ? [{ role: 'user', content: prompts.begin } as const] : []),
    ...body,
    ...begun,
  ];
}

/** A turn of a chat with characters: macros are resolved, and names added in groups. */
function spoken(turn: Turn, { cast: { speaker }, named, nameOf, textOf }: PromptFrame): Turn {
  if (!speaker || turn.role === 'tool' || turn.drawn !== undefined) return turn;
  const other = turn.role === 'assistant' && turn.speaker !== undefined && turn.speaker !== speaker.id;
  const text = textOf(turn);
  return {
    ...turn,
    role: other ? 'user' : turn.role,
    text: named && (other || turn.role === 'user') ? `${nameOf(turn)}: ${text}` : text,
  };
}

async function wireMessage(turn: Turn, current: boolean, read: ReadBlob): Promise<WireMessage> {
  if (turn.role === 'tool') return { role: 'tool', content: turn.text, tool_call_id: turn.callId ?? '' };
  if (turn.role === 'user') return { role: 'user', content: await asked(turn, read) };
  if (turn.drawn !== undefined) return { role: 'assistant', content: prompts.picture(turn.drawn) };
  const calls = turn.calls ?? [];
  if (calls.length === 0) return { role: 'assistant', content: turn.text };
  return {
    role: 'assistant',
    content: turn.text === '' ? null : turn.text,
    // Within one question the model continues from its own reasoning.
    ...(current && turn.reasoning ? { reasoning_content: turn.reasoning } : {}),
    tool_calls: calls.map(({ id, name, arguments: given }) => ({
      id,
      type: 'function',
      function: { name, arguments: given },
    })),
  };
}

async function asked(
  { text, attachments = [], sources = [], memories = [] }: Turn,
  read: ReadBlob,
): Promise<string | WirePart[]> {
  // Of documents that are sent by passages, the sources contain what is needed.
  const files = attachments.filter(({ kind, send }) => kind === 'text' && send !== 'passages');
  const content = [...files.map(fenced), sourcesText(sources), text].filter(Boolean).join('\n\n');
  const words = content + memoryBlock(memories.map((memory) => ({ text: memory })));
  const media = await Promise.all(attachments.map((attachment) => mediaPart(attachment, read)));
  const parts = media.filter((part) => part !== undefined);
  return parts.length === 0 ? words : [...parts, ...(words === '' ? [] : [{ type: 'text', text: words } as const])];
}

async function mediaPart({ kind, blob }: Attachment, read: ReadBlob): Promise<WirePart | undefined> {
  if (kind === 'text' || !blob) return undefined;
  const url = await read(blob);
  if (kind === 'image') return { type: 'image_url', image_url: { url } };
  const format = blob.type.includes('wav') ? 'wav' : (/audio\/([\w]+)/.exec(blob.type)?.[1] ?? 'wav');
  return { type: 'input_audio', input_audio: { data: url.slice(url.indexOf(',') + 1), format } };
}

/** A file as a fenced block. */
export function fenced({ name, text = '' }: Pick<Attachment, 'name' | 'text'>): string {
  const fence = fenceFor(text);
  return `File ${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}
