import { fieldsOf, textIn } from '../api/loose.ts';
import type { Character } from '../conversations/character.ts';
import { characterOfCard, mainIcon } from './character-card.ts';
import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';
import { readZip, type ZipEntry } from './zip.ts';

const maxCardBytes = 32 * 1_048_576;
const maxPictureBytes = 32 * 1_048_576;

/** The character of a `.charx` file: a zip archive with `card.json` and its pictures. */
export async function characterOfCharx(bytes: Uint8Array, id: () => string, changedAt: number): Promise<Character> {
  const entries = await readZip(bytes);
  const card = entries.find(({ name }) => name === 'card.json');
  if (!card) throw new Unreadable(texts.card.noCard);
  let value: unknown;
  try {
    value = JSON.parse(await card.text(maxCardBytes));
  } catch (thrown) {
    if (thrown instanceof Unreadable) throw thrown;
    throw new Unreadable(texts.card.damaged);
  }
  return characterOfCard(value, id, changedAt, await icon(value, entries));
}

const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
};

/** The main icon: `embeded://` (the specification spells it so) names a file of the archive. */
async function icon(card: unknown, entries: readonly ZipEntry[]): Promise<Blob | undefined> {
  const main = mainIcon(fieldsOf(fieldsOf(card).data));
  const path = /^embedd?ed:\/\/(.+)$/.exec(textIn(main?.uri))?.[1];
  const entry =
    entries.find(({ name }) => name === path) ??
    entries.find(({ name }) => /(^|\/)icon\//.test(name) && typeOf(name) !== undefined);
  const type = entry && (typeOf(entry.name) ?? types[textIn(main?.ext).toLowerCase()]);
  if (!entry || type === undefined) return undefined;
  try {
    return new Blob([(await entry.bytes(maxPictureBytes)).slice()], { type });
  } catch {
    // The character can be used without its picture.
    return undefined;
  }
}

function typeOf(name: string): string | undefined {
  return types[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ''];
}
