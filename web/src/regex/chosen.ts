import type { Character } from '../conversations/character.ts';
import type { Turn } from '../conversations/conversation.ts';
import type { RegexScript } from '../conversations/regex-script.ts';

/** When scripts are applied: to a message that is written or edited, to what is shown, or to what is sent. */
export type Stage = 'chat' | 'edit' | 'shown' | 'sent';

/** The scripts for a message in their order: those for all characters, then those of its characters. */
export function scriptsOf(general: readonly RegexScript[], characters: readonly Character[]): readonly RegexScript[] {
  const off = new Set(characters.flatMap(({ scriptsOff = [] }) => scriptsOff));
  return [...general.filter(({ id }) => !off.has(id)), ...characters.flatMap(({ scripts = [] }) => scripts)];
}

/** Those that apply to a message. `depth`: number of messages after it. */
export function chosenScripts(
  scripts: readonly RegexScript[],
  role: Turn['role'],
  stage: Stage,
  depth = 0,
): readonly RegexScript[] {
  return scripts.filter((script) => {
    const { on, user, reply, where, onEdit, minDepth = 0, maxDepth = Number.POSITIVE_INFINITY } = script;
    if (!on || !(role === 'user' ? user : role === 'assistant' && reply)) return false;
    if (stage === 'chat') return where === 'chat';
    if (stage === 'edit') return where === 'chat' && onEdit;
    return (where === stage || where === 'shown-and-sent') && depth >= minDepth && depth <= maxDepth;
  });
}
