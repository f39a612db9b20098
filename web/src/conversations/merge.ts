import { head, merge, type Shape } from '../saved/merge.ts';
import type { Chat, Turn } from './conversation.ts';
import { withTitle } from './tree.ts';

/** Chats are stored and merged by turn. */
export const chatShape: Shape<Chat> = {
  split: ({ turns, ...rest }) => ({ ...turns, [head]: rest }),
  join: ({ [head]: rest, ...turns }) => ({ ...(rest as Omit<Chat, 'turns'>), turns: turns as Chat['turns'] }),
  merge: mergedChats,
};

/**
 * The changes of both sides. A turn that one side deleted stays if the other side changed it or replied below it, with
 * all turns before it.
 */
export function mergedChats(base: Chat | undefined, mine: Chat, theirs: Chat): Chat {
  const both = { ...merge(base, mine, theirs), changedAt: Math.max(mine.changedAt, theirs.changedAt) };
  return consistent(both, [mine.turns, theirs.turns, base?.turns ?? {}]);
}

type Turns = Chat['turns'];

/** Each turn has its parents, taken from the sources, and the chosen turns exist. */
export function consistent(chat: Chat, sources: readonly Turns[]): Chat {
  const turns = withParents(chat.turns, sources);
  const chosen = validChoices(chat.chosen, turns);
  return withTitle({ ...chat, turns, chosen });
}

function withParents(turns: Turns, sources: readonly Turns[]): Turns {
  const missing = Object.values(turns).filter(({ parent }) => parent !== null && !turns[parent]);
  if (missing.length === 0) return turns;
  const all: Record<string, Turn> = { ...turns };
  for (const turn of missing)
    for (let { parent } = turn; parent !== null && !all[parent]; ) {
      const id: string = parent;
      const ancestor = sources.map((source) => source[id]).find((one) => one !== undefined);
      if (!ancestor) break;
      all[id] = ancestor;
      parent = ancestor.parent;
    }
  return all;
}

/** Each turn with replies has a chosen one: the newest, if the chosen one is gone. */
function validChoices(chosen: Chat['chosen'], turns: Turns): Chat['chosen'] {
  const isValid = ([at, id]: readonly [string, string]): boolean => (turns[id]?.parent ?? 'root') === at && !!turns[id];
  const valid = Object.entries(chosen).filter(isValid);
  const all = Object.fromEntries(valid);
  const open = new Map<string, Turn>();
  for (const turn of Object.values(turns)) {
    const at = turn.parent ?? 'root';
    if (all[at] === undefined && turn.at >= (open.get(at)?.at ?? Number.NEGATIVE_INFINITY)) open.set(at, turn);
  }
  if (open.size === 0 && valid.length === Object.keys(chosen).length) return chosen;
  for (const [at, { id }] of open) all[at] = id;
  return all;
}
