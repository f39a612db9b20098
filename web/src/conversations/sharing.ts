import { isObject, listIn, numberIn, textIn } from '../api/loose.ts';
import type { Attachment, Chat, Turn } from './conversation.ts';
import { chatOfLine, emptyChat, pathOf, renamed, titleFrom } from './tree.ts';

/** Format name and version of Parley files. */
const format = 'parley.chats';
const version = 1;

export interface SharingContext {
  readonly toDataUrl: (blob: Blob) => Promise<string>;
  readonly toBlob: (dataUrl: string) => Blob;
  readonly newId: () => string;
  readonly now: number;
}

interface OwnFileOptions extends Pick<SharingContext, 'toDataUrl'> {
  /** More fields of the file: the characters and personas. */
  readonly cast?: object;
}

/** All branches, with attachments as data URLs. Running replies keep their text so far; messages that are not sent yet are left out. */
export async function ownFile(chats: readonly Chat[], { toDataUrl, cast = {} }: OwnFileOptions): Promise<string> {
  const packed = await Promise.all(
    chats.map(async ({ queued: _, comparison: __, ...chat }) => ({
      ...chat,
      turns: Object.fromEntries(
        await Promise.all(
          Object.entries(chat.turns).map(async ([id, turn]) => [id, await packedTurn(turn, toDataUrl)]),
        ),
      ),
    })),
  );
  return JSON.stringify({ format, version, chats: packed, ...cast }, null, 1);
}

async function packedTurn(
  { pending: _, attachments, ...turn }: Turn,
  toDataUrl: SharingContext['toDataUrl'],
): Promise<object> {
  if (!attachments) return turn;
  const packed = await Promise.all(
    attachments.map(async ({ blob, ...rest }) => (blob ? { ...rest, data: await toDataUrl(blob) } : rest)),
  );
  return { ...turn, attachments: packed };
}

/** The shown path as ShareGPT: one list of messages per chat. */
export function shareGptFile(chats: readonly Chat[], system: string): string {
  return JSON.stringify(
    chats.map((chat) => ({
      id: chat.id,
      title: chat.title,
      conversations: [
        ...((chat.system ?? system) === '' ? [] : [{ from: 'system', value: chat.system ?? system }]),
        ...pathOf(chat).map(({ role, text }) => ({ from: names[role], value: text })),
      ],
    })),
    null,
    1,
  );
}

const names: Readonly<Record<Turn['role'], string>> = { user: 'human', assistant: 'gpt', tool: 'tool' };

export function markdownFile(chat: Chat): string {
  const turns = pathOf(chat).map(({ role, text, reasoning, attachments = [], calls = [], toolName }) => {
    const heading = { user: 'You', assistant: 'Reply', tool: `Result of ${toolName ?? 'a tool'}` }[role];
    const thoughts = reasoning ? [`<details><summary>Thoughts</summary>\n\n${reasoning}\n\n</details>`] : [];
    const files = attachments.map(({ name }) => `*Attached: ${name}*`);
    const callLines = calls.map(({ name, arguments: given }) => `*Calls ${name}:* \`${given}\``);
    return [`## ${heading}`, ...thoughts, ...files, text, ...callLines].filter(Boolean).join('\n\n');
  });
  return `${[`# ${chat.title || 'Chat'}`, ...turns].join('\n\n')}\n`;
}

/** A Parley file, ShareGPT or OpenAI messages. */
export function hasChats(value: unknown): boolean {
  if (isObject(value) && value.format === format) return true;
  const [first] = Array.isArray(value) ? value : [value];
  if (!isObject(first)) return false;
  if (Array.isArray(first.conversations) || Array.isArray(first.messages)) return true;
  const named = typeof first.role === 'string' || typeof first.from === 'string';
  return Array.isArray(value) && named && (first.content !== undefined || first.value !== undefined);
}

/** The chats of a parsed file; none if it has no known format. */
export function chatsOf(value: unknown, context: SharingContext): Chat[] {
  return isObject(value) && value.format === format ? ownChats(value, context) : foreignChats(value, context);
}

/** Whether a newer version of Parley has written a file, whose chats may have another form. */
export function isNewer(value: unknown): boolean {
  return isObject(value) && value.format === format && numberIn(value.version, 1) > version;
}

function ownChats({ chats }: Record<string, unknown>, context: SharingContext): Chat[] {
  return listIn(chats).flatMap((chat) => {
    if (!isObject(chat) || !isObject(chat.turns)) return [];
    const turns = Object.values(chat.turns).flatMap((turn) => ownTurn(turn, context));
    const known = new Set(turns.map(({ id }) => id));
    const whole = turns.filter(({ parent }) => parent === null || known.has(parent));
    const chosen = Object.entries(isObject(chat.chosen) ? chat.chosen : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && known.has(entry[1]),
    );
    return [
      {
        ...emptyChat(context.newId(), context.now, textIn(chat.folder)),
        title: textIn(chat.title),
        titled: chat.titled === true,
        createdAt: numberIn(chat.createdAt, context.now),
        changedAt: numberIn(chat.changedAt, context.now),
        turns: Object.fromEntries(whole.map((turn) => [turn.id, turn])),
        chosen: Object.fromEntries(chosen),
        ...(typeof chat.system === 'string' ? { system: chat.system } : {}),
        ...keptFields(chat),
      },
    ];
  });
}

/** Fields of role-play chats. */
function keptFields(chat: Record<string, unknown>): Partial<Chat> {
  const lists = ['characters', 'muted', 'stops', 'world', 'tools', 'collections'].filter((name) =>
    Array.isArray(chat[name]),
  );
  const texts = ['persona', 'turnOrder', 'promptForm'].filter((name) => typeof chat[name] === 'string');
  const flags = ['autoSummary', 'autoReply', 'pinned'].filter((name) => chat[name] === true);
  const parts = ['note', 'summary'].filter(
    (name) => typeof (chat[name] as { text?: unknown } | null)?.text === 'string',
  );
  return Object.fromEntries([...lists, ...texts, ...flags, ...parts].map((name) => [name, chat[name]]));
}

function ownTurn(value: unknown, { now, toBlob, newId }: SharingContext): Turn[] {
  if (!isObject(value) || typeof value.id !== 'string' || !['user', 'assistant', 'tool'].includes(textIn(value.role)))
    return [];
  const { pending: _, ...fields } = value;
  const attachments = listIn(value.attachments).flatMap((one): Attachment[] => {
    if (!isObject(one) || !['image', 'audio', 'text'].includes(textIn(one.kind))) return [];
    const base = {
      id: textIn(one.id) || newId(),
      kind: textIn(one.kind) as Attachment['kind'],
      name: textIn(one.name),
    };
    if (typeof one.data === 'string') return one.data.startsWith('data:') ? [{ ...base, blob: toBlob(one.data) }] : [];
    return [{ ...base, text: textIn(one.text) }];
  });
  const turn = {
    ...fields,
    parent: typeof value.parent === 'string' ? value.parent : null,
    text: textIn(value.text),
    at: numberIn(value.at, now),
    ...(attachments.length > 0 ? { attachments } : {}),
  } as unknown as Turn;
  return [turn];
}

const roles: Readonly<Record<string, Turn['role'] | 'system'>> = {
  human: 'user',
  user: 'user',
  gpt: 'assistant',
  assistant: 'assistant',
  chatgpt: 'assistant',
  bing: 'assistant',
  bard: 'assistant',
  model: 'assistant',
  tool: 'tool',
  system: 'system',
};

/** ShareGPT (`conversations` of `from` and `value`) and OpenAI (`messages` of `role` and `content`), one or many. */
function foreignChats(value: unknown, context: SharingContext): Chat[] {
  const many = Array.isArray(value) && value.every((one) => isObject(one) && (one.conversations || one.messages));
  return (many ? (value as unknown[]) : [value]).flatMap((one) => {
    const messages = isObject(one) ? listIn(one.conversations ?? one.messages) : listIn(one);
    const turns: Turn[] = [];
    let system: string | undefined;
    for (const message of messages) {
      if (!isObject(message)) continue;
      const role = roles[textIn(message.from ?? message.role).toLowerCase()];
      const text = contentText(message.value ?? message.content);
      if (role === 'system') system = text;
      else if (role !== undefined)
        turns.push({
          id: context.newId(),
          parent: turns.at(-1)?.id ?? null,
          role,
          text,
          at: context.now + turns.length,
        });
    }
    if (turns.length === 0) return [];
    const chat = { ...chatOfLine(context.newId(), turns, context.now), ...(system === undefined ? {} : { system }) };
    return [renamed(chat, isObject(one) ? titleFrom(textIn(one.title)) : '')];
  });
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listIn(content)
    .map((part) => (isObject(part) ? textIn(part.text) : ''))
    .filter(Boolean)
    .join('\n');
}
