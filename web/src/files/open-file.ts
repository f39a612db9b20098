import { fieldsOf, jsonIn } from '../api/loose.ts';
import type { Character } from '../conversations/character.ts';
import type { Chat } from '../conversations/conversation.ts';
import { chatsOf, hasChats, isNewer } from '../conversations/sharing.ts';
import { split } from '../story/passages.ts';
import { newStory, type Story } from '../story/story.ts';
import { cardOfPng, characterOfCard, isCard, pictureOfPng } from './character-card.ts';
import { characterOfCharx } from './charx.ts';
import { type Cast, castOfFile } from './chat-cast.ts';
import { blobOf, dataUrlOf } from './data-url.ts';
import { isSave, storyOfSave } from './lite-save.ts';
import { isLorebook, type Lorebook, lorebookOf } from './lorebook.ts';
import { isOwn, storyOfFile } from './own-story.ts';
import { isPng } from './png-text.ts';
import { isRegexScript } from './regex-scripts.ts';
import { chatOfSillyTavern, isSillyTavernChat, type NamedChat } from './silly-tavern-chat.ts';
import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';
import { isZip } from './zip.ts';

const megabyte = 1_048_576;
export const maxFileBytes = 64 * megabyte;

/** What a file contains, detected by its content. */
export type Found =
  | { readonly kind: 'character'; readonly character: Character }
  | { readonly kind: 'lorebook'; readonly lorebook: Lorebook }
  | { readonly kind: 'chats'; readonly chats: readonly Chat[]; readonly cast: Cast }
  | { readonly kind: 'named-chat'; readonly named: NamedChat }
  | { readonly kind: 'story'; readonly story: Story }
  /** Sampler settings of any program, as parsed JSON. */
  | { readonly kind: 'preset'; readonly value: unknown }
  /** Regex scripts, as parsed JSON. */
  | { readonly kind: 'regex-scripts'; readonly value: unknown }
  /** Quick replies of any program, as parsed JSON. */
  | { readonly kind: 'quick-replies'; readonly value: unknown }
  /** JSON of an unknown kind is text too. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'other' };

interface OpenContext {
  readonly newId: () => string;
  readonly now: number;
}

/** Throws an `Unreadable` if the kind of the file is known but its content is damaged. */
export async function contentOf(file: File, context: OpenContext): Promise<Found> {
  const { newId, now } = context;
  const { name } = file;
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (isPng(bytes)) {
    const card = cardOfPng(bytes);
    if (card === undefined) return { kind: 'other' };
    return { kind: 'character', character: characterOfCard(card, newId, now, pictureOfPng(bytes)) };
  }
  // Some programs append the archive to a picture.
  if (/\.charx$/i.test(name) || (isZip(bytes) && isCharx(bytes)))
    return { kind: 'character', character: await characterOfCharx(bytes, newId, now) };
  const text = plainText(bytes);
  if (text === undefined) return { kind: 'other' };
  const value = parsed(text);
  const content = value === undefined ? undefined : ofJson(value, titleOf(name), context);
  if (value === undefined && /\.json$/i.test(name)) throw new Unreadable(texts.open.damagedJson);
  return content ?? { kind: 'text', text };
}

/** The first entry of an archive, or one of the first, is the card. */
function isCharx(bytes: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(bytes.subarray(-65_536)).includes('card.json');
}

function ofJson(value: unknown, title: string, { newId, now }: OpenContext): Found | undefined {
  if (Array.isArray(value) && isSillyTavernChat(value))
    return { kind: 'named-chat', named: chatOfSillyTavern(value, newId, now) };
  if (isNewer(value)) throw new Unreadable(texts.open.newer);
  if (hasChats(value)) {
    const sharing = { newId, now, toBlob: blobOf, toDataUrl: dataUrlOf };
    return { kind: 'chats', chats: chatsOf(value, sharing), cast: castOfFile(value, sharing) };
  }
  if (isOwn(value) || isSave(value)) {
    const story = (isOwn(value) ? storyOfFile : storyOfSave)(value, newId, now);
    return { kind: 'story', story: story.title.trim() === '' ? { ...story, title } : story };
  }
  if (isLorebook(value)) {
    const { world, options } = lorebookOf(value, newId);
    return { kind: 'lorebook', lorebook: { world, options: { name: title, ...options } } };
  }
  if (isRegexScript(value)) return { kind: 'regex-scripts', value };
  if (isQuickReplies(value)) return { kind: 'quick-replies', value };
  if (isCard(value)) return { kind: 'character', character: characterOfCard(value, newId, now) };
  return isPreset(value) ? { kind: 'preset', value } : undefined;
}

/** A set of SillyTavern, in both of its versions, or a file of Parley. */
function isQuickReplies(value: unknown): boolean {
  const { qrList, quickReplySlots, format } = fieldsOf(value);
  return Array.isArray(qrList) || Array.isArray(quickReplySlots) || format === 'parley.quick-replies';
}

const samplerFields = [
  ...['temp', 'temperature', 'top_p', 'top_k', 'top_a', 'min_p', 'typical', 'typical_p', 'tfs', 'rep_pen'],
  ...['repetition_penalty', 'frequency_penalty', 'presence_penalty', 'genamt', 'sampler_order', 'openai_max_context'],
];

/** Sampler settings of Parley, KoboldAI Lite and SillyTavern. */
function isPreset(value: unknown): boolean {
  const fields = fieldsOf(value);
  if (typeof fields.parley === 'string' || typeof fields.format === 'string')
    return /preset/.test(`${fields.parley ?? ''}${fields.format ?? ''}`);
  return samplerFields.filter((name) => fields[name] !== undefined).length >= 2;
}

/** JSON, or a list of the values of JSON Lines. Undefined for other text. */
function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  const whole = jsonIn(text);
  if (whole !== undefined) return whole;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map((line) => jsonIn(line));
  return values.length > 1 && !values.includes(undefined) ? values : undefined;
}

function titleOf(name: string): string {
  return name.replace(/\.[^.]*$/, '');
}

export function storyOfText(text: string, id: () => string, changed: number): Story {
  return newStory({ id: id(), changed, mode: 'story', passages: split(text, 'person', id) });
}

/** Undefined for binary files. */
function plainText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text.replaceAll('\r\n', '\n');
  } catch {
    return undefined;
  }
}
