import { list, translatable } from '../languages/index.ts';

/** What a key may do, by the names of `--scopes`. */
export const scopeTexts = translatable('scopes', {
  text: 'Stories and text',
  chat: 'Chat',
  images: 'Pictures',
  audio: 'Speech and sound',
  embeddings: 'Embeddings',
  tools: 'Tools',
  documents: 'Documents',
  admin: 'Administration',
});

export type Scope = keyof typeof scopeTexts;

export const allScopes = Object.keys(scopeTexts) as readonly Scope[];

/** As a list in the language of the page; scopes of a later version by their names. */
export function scopeList(scopes: readonly string[]): string {
  return list(scopes.map((scope) => scopeTexts[scope as Scope] ?? scope));
}
