import { type Fields, fieldsOf, listIn, textIn } from '../api/loose.ts';
import type { Character, Persona } from '../conversations/character.ts';
import type { Chat } from '../conversations/conversation.ts';
import { cardOf, characterOfCard } from './character-card.ts';

/** The characters and personas of chats. */
export interface Cast {
  readonly characters: readonly Character[];
  readonly personas: readonly Persona[];
}

/** Those that the chats use, or used: characters that left a group still have messages. */
export function castOfChats(chats: readonly Chat[], { characters, personas }: Cast): Cast {
  const used = new Set<string | undefined>();
  for (const chat of chats) {
    for (const id of chat.characters ?? []) used.add(id);
    for (const { speaker } of Object.values(chat.turns)) used.add(speaker);
    used.add(chat.persona);
  }
  return {
    characters: characters.filter(({ id }) => used.has(id)),
    personas: personas.filter(({ id }) => used.has(id)),
  };
}

/** For a file: characters as cards with their id, pictures as data URLs. */
export async function packedCast(
  { characters, personas }: Cast,
  toDataUrl: (blob: Blob) => Promise<string>,
): Promise<{ readonly characters: readonly object[]; readonly personas: readonly object[] }> {
  const pictureOf = async ({ picture }: Character | Persona): Promise<object> =>
    picture ? { picture: await toDataUrl(picture) } : {};
  return {
    characters: await Promise.all(
      characters.map(async (one) => ({ id: one.id, ...(await pictureOf(one)), card: cardOf(one) })),
    ),
    personas: await Promise.all(
      personas.map(async (one) => ({
        id: one.id,
        name: one.name,
        description: one.description,
        ...(await pictureOf(one)),
      })),
    ),
  };
}

interface CastContext {
  readonly newId: () => string;
  readonly now: number;
  readonly toBlob: (dataUrl: string) => Blob;
}

/** The characters and personas of a Parley file with chats. */
export function castOfFile(value: unknown, { newId, now, toBlob }: CastContext): Cast {
  const file = fieldsOf(value);
  const picture = (fields: Fields): Blob | undefined => {
    try {
      return textIn(fields.picture).startsWith('data:image/') ? toBlob(textIn(fields.picture)) : undefined;
    } catch {
      // A damaged picture is left out.
      return undefined;
    }
  };
  const named = (list: unknown): Fields[] =>
    listIn(list, 10_000)
      .map(fieldsOf)
      .filter(({ id }) => textIn(id) !== '');
  return {
    characters: named(file.characters).map((one) => ({
      ...characterOfCard(one.card, newId, now, picture(one)),
      id: textIn(one.id),
    })),
    personas: named(file.personas).map((one): Persona => {
      const image = picture(one);
      const fields = {
        id: textIn(one.id),
        changedAt: now,
        name: textIn(one.name),
        description: textIn(one.description),
      };
      return image ? { ...fields, picture: image } : fields;
    }),
  };
}
