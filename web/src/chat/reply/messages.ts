import { sourcesText } from '../../documents/sources-text.ts';
import type { Attachment, Turn } from '../model/conversation.ts';

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
export type ReadBlob = (blob: Blob) => Promise<string>;

export async function wireMessages(system: string, path: readonly Turn[], read: ReadBlob): Promise<WireMessage[]> {
  const lastAsked = path.findLastIndex(({ role }) => role === 'user');
  const turns = await Promise.all(path.map((turn, index) => wireMessage(turn, index > lastAsked, read)));
  const begin: WireMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
  return [...begin, ...turns];
}

async function wireMessage(turn: Turn, current: boolean, read: ReadBlob): Promise<WireMessage> {
  if (turn.role === 'tool') return { role: 'tool', content: turn.text, tool_call_id: turn.callId ?? '' };
  if (turn.role === 'user') return { role: 'user', content: await asked(turn, read) };
  if (turn.drawn !== undefined) return { role: 'assistant', content: `(A picture: ${turn.drawn})` };
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

async function asked({ text, attachments = [], sources = [] }: Turn, read: ReadBlob): Promise<string | WirePart[]> {
  // Of documents that are sent by passages, the sources contain what is needed.
  const files = attachments.filter(({ kind, send }) => kind === 'text' && send !== 'passages');
  const words = [...files.map(fenced), sourcesText(sources), text].filter(Boolean).join('\n\n');
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

/** A file as a fenced block; the fence is longer than any in the file. */
export function fenced({ name, text = '' }: Pick<Attachment, 'name' | 'text'>): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `File ${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}
