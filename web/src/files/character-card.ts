import { newEntry, newPassage, newStory, type Passage, type Story, type WorldEntry } from '../story/story.ts';
import { type Fields, fieldsOf, flagIn, listIn, numberIn, textIn, textsIn } from './loose.ts';
import { pngTexts } from './png-text.ts';
import { Unreadable } from './unreadable.ts';

/** A character card: in version 1 the fields are at the top level, later under `data`. */
export function isCard(value: unknown): boolean {
  const card = fieldsOf(value);
  if (textIn(card.spec).startsWith('chara_card')) return true;
  return typeof card.name === 'string' && ['first_mes', 'description', 'personality'].some((name) => name in card);
}

/** The card in a PNG file; the newest version if there are several. */
export function cardOfPng(bytes: Uint8Array): unknown {
  const texts = pngTexts(bytes);
  const packed = texts.get('ccv3') ?? texts.get('chara');
  if (packed === undefined) throw new Unreadable('This image contains no character card.');
  try {
    const binary = atob(packed.replace(/\s+/g, ''));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (byte) => byte.charCodeAt(0))));
  } catch {
    throw new Unreadable('The character card in this image is damaged.');
  }
}

/** A chat with the character. Its greetings are branches of the first message. */
export function storyOfCard(value: unknown, id: () => string, changed: number): Story {
  const outer = fieldsOf(value);
  const card = 'data' in outer ? fieldsOf(outer.data) : outer;
  const name = textIn(card.name).trim() || 'Character';
  const me = 'You';
  const named = (text: string): string => withNames(text, name, me);
  const greetings = [textIn(card.first_mes), ...textsIn(card.alternate_greetings, 200)]
    .map((greeting) => named(greeting).trim())
    .filter((greeting) => greeting !== '');
  const note = named(textIn(card.post_history_instructions)).trim();
  return newStory({
    id: id(),
    changed,
    title: name,
    mode: 'chat',
    me,
    them: textIn(card.nickname).trim() || name,
    // Greetings have several paragraphs, and replies follow their example.
    oneLine: !greetings.some((greeting) => greeting.includes('\n')),
    memory: named(memoryOf(card, name)),
    passages: greetingPassage(greetings, id),
    world: listIn(fieldsOf(card.character_book).entries, 5000).map((entry) => entryOf(entry, id, named)),
    ...(note === '' ? {} : { note: { text: note, template: '[<|>]', depth: 80 } }),
  });
}

function greetingPassage([first, ...others]: readonly string[], id: () => string): Passage[] {
  if (first === undefined) return [];
  const passage = newPassage(id(), 'model', first);
  return [{ ...passage, branches: [...passage.branches, ...others.map((text) => ({ text }))] }];
}

function memoryOf(card: Fields, name: string): string {
  const example = textIn(card.mes_example)
    .replace(/<START>/gi, '***')
    .trim();
  const parts = [
    textIn(card.system_prompt).replace(/\{\{original\}\}/gi, ''),
    textIn(card.description),
    labelled(`${name}'s personality`, textIn(card.personality)),
    labelled('Scenario', textIn(card.scenario)),
    example === '' ? '' : `Example dialogue:\n${example}\n***`,
  ];
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');
}

function labelled(label: string, text: string): string {
  return text.trim() === '' ? '' : `${label}: ${text.trim()}`;
}

function entryOf(value: unknown, id: () => string, named: (text: string) => string): WorldEntry {
  const entry = fieldsOf(value);
  return newEntry({
    id: id(),
    keys: textsIn(entry.keys, 200).map(named),
    secondaryKeys: textsIn(entry.secondary_keys, 200).map(named),
    content: named(textIn(entry.content)),
    comment: textIn(entry.comment) || textIn(entry.name),
    constant: flagIn(entry.constant, false),
    selective: flagIn(entry.selective, false),
    enabled: flagIn(entry.enabled, true),
    order: numberIn(entry.insertion_order, 100),
  });
}

function withNames(text: string, them: string, me: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/\{\{char\}\}|<BOT>|<CHAR>/gi, () => them)
    .replace(/\{\{user\}\}|<USER>/gi, () => me);
}
