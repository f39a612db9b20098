import { split } from '../story/passages.ts';
import { newStory, type Story } from '../story/story.ts';
import { cardOfPng, isCard, storyOfCard } from './character-card.ts';
import { isSave, storyOfSave } from './lite-save.ts';
import { isOwn, storyOfFile } from './own-story.ts';
import { isPng } from './png-text.ts';
import { Unreadable } from './unreadable.ts';

const megabyte = 1_048_576;
export const largestFile = 64 * megabyte;

export interface FoundFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Reads a story from any supported file, detected by its content. */
export function storyOf({ name, bytes }: FoundFile, id: () => string, changed: number): Story {
  if (bytes.length === 0) throw new Unreadable('The file is empty.');
  if (bytes.length > largestFile)
    throw new Unreadable(`The file is too large. The limit is ${largestFile / megabyte} MB.`);
  const title = name.replace(/\.[^.]*$/, '');
  if (isPng(bytes)) return storyOfCard(cardOfPng(bytes), id, changed);
  const text = plainText(bytes);
  const story =
    /^\s*[{[]/.test(text) && looksLikeJson(name, text)
      ? storyOfJson(parsed(text), id, changed)
      : storyOfText(text, id, changed);
  return story.title.trim() === '' ? { ...story, title } : story;
}

export function storyOfJson(value: unknown, id: () => string, changed: number): Story {
  if (isOwn(value)) return storyOfFile(value, id, changed);
  if (isCard(value)) return storyOfCard(value, id, changed);
  if (isSave(value)) return storyOfSave(value, id, changed);
  throw new Unreadable('Unknown file. Use a Parley story, a KoboldAI Lite save or a character card.');
}

function storyOfText(text: string, id: () => string, changed: number): Story {
  return newStory({ id: id(), changed, mode: 'story', passages: split(text, 'person', id) });
}

/** Plain text may also start with a bracket. */
function looksLikeJson(name: string, text: string): boolean {
  return /\.json$/i.test(name) || /^\s*[{[]\s*["{[\]}]/.test(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable('The file is damaged: its JSON is not valid.');
  }
}

function plainText(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text.replaceAll('\r\n', '\n');
  } catch {
    // Not UTF-8; reported below.
  }
  throw new Unreadable('Unknown file. Use a text file, a Parley story, a KoboldAI Lite save or a character card.');
}
