import { bytesIn, type Fields, fieldsOf, listIn, numberIn, textIn, textsIn } from '../api/loose.ts';
import { type Character, type DepthPrompt, newCharacter } from '../conversations/character.ts';
import { blobOf } from './data-url.ts';
import { bookOf, isLorebook, lorebookOf } from './lorebook.ts';
import { pngTexts, withPngTexts } from './png-text.ts';
import { scriptFile } from './regex-scripts.ts';
import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';

/** A character card: in version 1 the fields are at the top level, later under `data`. */
export function isCard(value: unknown): boolean {
  const card = fieldsOf(value);
  if (textIn(card.spec).startsWith('chara_card')) return true;
  return typeof card.name === 'string' && ['first_mes', 'description', 'personality'].some((name) => name in card);
}

/** The card in a PNG file; the newest version if there are several. Undefined if it has none. */
export function cardOfPng(bytes: Uint8Array): unknown {
  const chunks = pngTexts(bytes);
  const packed = chunks.get('ccv3') ?? chunks.get('chara');
  if (packed === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytesIn(packed.replace(/\s+/g, ''))));
  } catch {
    throw new Unreadable(texts.card.damaged);
  }
}

/** The picture without the card in it. */
export function pictureOfPng(bytes: Uint8Array): Blob {
  return new Blob([withPngTexts(bytes, { chara: undefined, ccv3: undefined })], { type: 'image/png' });
}

/** A PNG card that programs for version 2 and for version 3 read. */
export function pngWithCard(picture: Uint8Array, character: Character): Uint8Array<ArrayBuffer> {
  const card = cardOf(character);
  return withPngTexts(picture, {
    chara: base64({ ...card, spec: 'chara_card_v2', spec_version: '2.0' }),
    ccv3: base64(card),
  });
}

function base64(value: object): string {
  let binary = '';
  for (const byte of new TextEncoder().encode(JSON.stringify(value))) binary += String.fromCharCode(byte);
  return btoa(binary);
}

const maxGreetings = 500;
const voiceField = 'parley/voice';
const narratorField = 'parley/narrator_voice';

export function characterOfCard(value: unknown, id: () => string, changedAt: number, picture?: Blob): Character {
  const outer = fieldsOf(value);
  const card = 'data' in outer ? fieldsOf(outer.data) : outer;
  const {
    depth_prompt,
    [voiceField]: voice,
    [narratorField]: narratorVoice,
    ...otherExtensions
  } = fieldsOf(card.extensions);
  const book = isBook(card.character_book) ? lorebookOf(card.character_book, id) : undefined;
  const depthPrompt = depthPromptOf(fieldsOf(depth_prompt));
  const image = picture ?? embeddedPicture(card);
  const nickname = textIn(card.nickname).trim();
  const foreign = foreignOf(card, otherExtensions);
  return newCharacter({
    id: id(),
    changedAt,
    name: textIn(card.name).trim() || texts.card.unnamed,
    description: lines(card.description),
    personality: lines(card.personality),
    scenario: lines(card.scenario),
    greetings: [lines(card.first_mes), ...textsIn(card.alternate_greetings, maxGreetings).map(lines)].filter(
      (greeting) => greeting.trim() !== '',
    ),
    examples: lines(card.mes_example),
    system: lines(card.system_prompt),
    afterMessages: lines(card.post_history_instructions),
    world: book?.world ?? [],
    creatorNotes: lines(card.creator_notes) || lines(card.creatorcomment),
    tags: textsIn(card.tags, 200),
    ...(book && Object.keys(book.options).length > 0 ? { worldOptions: book.options } : {}),
    ...(nickname === '' ? {} : { nickname }),
    ...(depthPrompt ? { depthPrompt } : {}),
    ...(textIn(voice) === '' ? {} : { voice: textIn(voice) }),
    ...(textIn(narratorVoice) === '' ? {} : { narratorVoice: textIn(narratorVoice) }),
    ...(image ? { picture: image } : {}),
    ...(Object.keys(foreign).length > 0 ? { foreign } : {}),
  });
}

function isBook(value: unknown): boolean {
  return Array.isArray(fieldsOf(value).entries) || isLorebook(value);
}

function lines(value: unknown): string {
  return textIn(value).replaceAll('\r\n', '\n');
}

function depthPromptOf({ prompt, depth, role }: Fields): DepthPrompt | undefined {
  const text = lines(prompt);
  if (text.trim() === '') return undefined;
  const known = role === 'user' || role === 'assistant' ? role : 'system';
  return { text, depth: Math.max(0, Math.trunc(numberIn(depth, 4))), role: known };
}

/** Of the assets of a card. */
export function mainIcon({ assets }: Fields): Fields | undefined {
  const icons = listIn(assets, 1000)
    .map(fieldsOf)
    .filter(({ type }) => type === 'icon');
  return icons.find(({ name }) => name === 'main') ?? icons[0];
}

/** Cards as JSON may have their picture as a data URL. */
function embeddedPicture(card: Fields): Blob | undefined {
  const url = [mainIcon(card)?.uri, card.avatar].find(
    (one) => typeof one === 'string' && one.startsWith('data:image/'),
  );
  try {
    return url === undefined ? undefined : blobOf(url as string);
  } catch {
    return undefined;
  }
}

const knownFields = new Set([
  ...['name', 'description', 'personality', 'scenario', 'first_mes', 'alternate_greetings', 'mes_example'],
  ...['system_prompt', 'post_history_instructions', 'character_book', 'creator_notes', 'creatorcomment', 'tags'],
  ...['nickname', 'extensions'],
]);

function foreignOf(card: Fields, extensions: Fields): Fields {
  const foreign = Object.fromEntries(Object.entries(card).filter(([name]) => !knownFields.has(name)));
  return Object.keys(extensions).length > 0 ? { ...foreign, extensions } : foreign;
}

/** A card of version 3, with the unknown fields of the imported one. */
export function cardOf(character: Character): Record<string, unknown> {
  const { depthPrompt, foreign = {}, world, worldOptions, voice, narratorVoice, scripts = [] } = character;
  const extensions = fieldsOf(foreign.extensions);
  const [first_mes = '', ...alternate_greetings] = character.greetings;
  return {
    spec: 'chara_card_v3',
    spec_version: '3.0',
    data: {
      creator: '',
      character_version: '',
      group_only_greetings: [],
      ...foreign,
      name: character.name,
      ...(character.nickname === undefined ? {} : { nickname: character.nickname }),
      description: character.description,
      personality: character.personality,
      scenario: character.scenario,
      first_mes,
      alternate_greetings,
      mes_example: character.examples,
      system_prompt: character.system,
      post_history_instructions: character.afterMessages,
      creator_notes: character.creatorNotes,
      tags: character.tags,
      extensions: {
        ...extensions,
        ...(scripts.length > 0
          ? { regex_scripts: [...scripts.map(scriptFile), ...listIn(extensions.regex_scripts)] }
          : {}),
        ...(depthPrompt
          ? { depth_prompt: { prompt: depthPrompt.text, depth: depthPrompt.depth, role: depthPrompt.role } }
          : {}),
        ...(voice === undefined ? {} : { [voiceField]: voice }),
        ...(narratorVoice === undefined ? {} : { [narratorField]: narratorVoice }),
      },
      ...(world.length > 0 ? { character_book: bookOf(world, worldOptions) } : {}),
    },
  };
}
