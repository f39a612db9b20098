import { type Character, newCharacter } from '../../conversations/character.ts';
import type { Turn } from '../../conversations/conversation.ts';

export function character(fields: Partial<Character> & Pick<Character, 'name'>): Character {
  return newCharacter({ id: fields.name.toLowerCase(), changedAt: 1, ...fields });
}

/** Turns of a chat without branches: `me:` begins a message of the person, `name:` one of a character. */
export function turns(...lines: readonly string[]): Turn[] {
  return lines.map((line, index) => {
    const [, name = '', text = ''] = /^(\w+):(.*)$/s.exec(line) ?? [];
    return {
      id: `t${index}`,
      parent: index === 0 ? null : `t${index - 1}`,
      role: name === 'me' ? 'user' : 'assistant',
      text,
      at: index,
      ...(name === 'me' ? {} : { speaker: name.toLowerCase(), name }),
    };
  });
}
