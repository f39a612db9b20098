import type { Character, Persona } from '../conversations/character.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { Records } from '../saved/records.svelte.ts';

export const characters = new Records<Character>('characters');
export const personas = new Records<Persona>('personas');

/** Characters and personas are read when the first of them is needed. */
export async function loadCharacters(): Promise<void> {
  await Promise.all([characters.load(), personas.load()]);
}

/** The persona of new chats, by id. */
export const preferences = persistedState<{ persona: string }>('parley.characters', { persona: '' });

const urls = new WeakMap<Blob, string>();

/** An address of the picture of a character or persona, the same each time; undefined if it has none. */
export function avatarUrl(id: string | undefined): string | undefined {
  const picture = characters.find(id)?.picture ?? personas.find(id)?.picture;
  return picture && pictureUrl(picture);
}

export function pictureUrl(picture: Blob): string {
  let url = urls.get(picture);
  if (url === undefined) {
    url = URL.createObjectURL(picture);
    urls.set(picture, url);
  }
  return url;
}
