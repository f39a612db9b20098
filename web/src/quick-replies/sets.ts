import { type Fields, fieldsOf, flagIn, listIn, textIn } from '../api/loose.ts';
import { type MacroValues, resolveMacros } from '../characters/macros.ts';
import { commandIn, commandsIn } from './slash.ts';

/** A text that is sent, or put into the message field, by one click or by `/label`. */
export interface QuickReply {
  readonly id: string;
  readonly label: string;
  /** `{{input}}` stands for what is typed; other macros are those of characters. A text that begins with `/` is a command. */
  readonly text: string;
  /** Sent at once; otherwise put into the message field. */
  readonly send: boolean;
  /** Shown as a button above the message field. */
  readonly button: boolean;
  /** Only in chats with this character, or only in this chat. */
  readonly character?: string;
  readonly chat?: string;
  /** What the imported one has that does not work here: unknown commands, and other parts. */
  readonly unknown?: readonly string[];
  readonly lost?: readonly ('automatic' | 'contextMenu')[];
}

const format = 'parley.quick-replies';
const maxReplies = 1000;
const input = /\{\{input\}\}/gi;

/** Those for a chat, in their order. */
export function quickRepliesFor(
  all: readonly QuickReply[],
  chat: { readonly id: string; readonly characters?: readonly string[] } | undefined,
): readonly QuickReply[] {
  return all.filter(
    ({ chat: id, character }) =>
      (id === undefined || id === chat?.id) &&
      (character === undefined || chat?.characters?.includes(character) === true),
  );
}

export function usesInput({ text }: QuickReply): boolean {
  return text.search(input) !== -1;
}

/** What is sent: with names, and with what is typed. */
export function quickReplyText({ text }: QuickReply, typed: string, values: MacroValues): string {
  return text
    .split(input)
    .map((part) => resolveMacros(part, values))
    .join(typed);
}

export function quickReplyFile(replies: readonly QuickReply[]): object {
  // Characters and chats are those of this browser.
  const kept = replies.map(({ id: _, character: __, chat: ___, ...reply }) => reply);
  return { format, version: 1, replies: kept };
}

/** The quick replies of a file of Parley, or of a set of SillyTavern in either version. */
export function quickRepliesIn(value: unknown, newId: () => string): QuickReply[] {
  const fields = fieldsOf(value);
  const replies = fields.format === format ? listIn(fields.replies, maxReplies).map(ownReply) : repliesOfSet(fields);
  return replies
    .filter(({ label, text }) => text.trim() !== '' || label !== '')
    .map((one) => ({ ...withKnownCommands(one), id: newId() }));
}

type Read = Omit<QuickReply, 'id'>;

function ownReply(value: unknown): Read {
  const { label, text, send, button } = fieldsOf(value);
  return { label: textIn(label), text: textIn(text), send: flagIn(send, true), button: flagIn(button, true) };
}

/** The names of the fields in both versions of the sets of SillyTavern, with those of what starts a reply by itself. */
const setVersions = [
  {
    ...({ list: 'qrList', text: 'message', hidden: 'isHidden', menu: 'contextList' } as const),
    ...({ inject: 'injectInput', before: 'placeBeforeInput', unsent: 'disableSend' } as const),
    starts: ['executeOnStartup', 'executeOnUser', 'executeOnAi', 'executeOnChatChange', 'executeOnNewChat'],
  },
  {
    ...({ list: 'quickReplySlots', text: 'mes', hidden: 'hidden', menu: 'contextMenu' } as const),
    ...({ inject: 'AutoInputInject', before: 'placeBeforeInputEnabled', unsent: 'quickActionEnabled' } as const),
    starts: ['userMessage', 'botMessage', 'chatLoad', 'appStartup'].map((event) => `autoExecute_${event}`),
  },
];

function repliesOfSet(set: Fields): Read[] {
  const names = setVersions.find(({ list }) => Array.isArray(set[list]));
  return names === undefined
    ? []
    : listIn(set[names.list], maxReplies).map((one) => replyOfSet(fieldsOf(one), set, names));
}

function replyOfSet(fields: Fields, set: Fields, names: (typeof setVersions)[number]): Read {
  const isOn = (flags: Fields, name: string): boolean => flagIn(flags[name], false);
  return {
    label: textIn(fields.label) || textIn(fields.title),
    text: withInput(textIn(fields[names.text]), isOn(set, names.inject), isOn(set, names.before)),
    send: !isOn(set, names.unsent),
    button: !isOn(fields, names.hidden),
    ...lostParts(
      names.starts.some((name) => isOn(fields, name)),
      listIn(fields[names.menu]).length > 0,
    ),
  };
}

/** SillyTavern adds what is typed by itself. */
function withInput(text: string, isAdded: boolean, isBefore: boolean): string {
  if (!isAdded || text.search(input) !== -1 || text.startsWith('/')) return text;
  return isBefore ? `${text} {{input}}` : `{{input}} ${text}`;
}

function lostParts(automatic: boolean, contextMenu: boolean): Pick<QuickReply, 'lost'> {
  const lost = [...(automatic ? (['automatic'] as const) : []), ...(contextMenu ? (['contextMenu'] as const) : [])];
  return lost.length > 0 ? { lost } : {};
}

/** A script with commands that do not exist here would be sent as a message: it is put into the field. */
function withKnownCommands(reply: Read): Read {
  const { text } = reply;
  if (!text.trimStart().startsWith('/')) return reply;
  const names = commandsIn(text);
  if (names.length === 1 && commandIn(text)) return reply;
  return { ...reply, send: false, unknown: names };
}
