import { type Changes, withFields } from './character.ts';
import type { Chat, Comparison, Turn } from './conversation.ts';

const root = 'root';
const maxTitle = 60;

export function emptyChat(id: string, now: number, folder = ''): Chat {
  return { id, title: '', titled: false, folder, createdAt: now, changedAt: now, turns: {}, chosen: {} };
}

/** A chat without branches. */
export function chatOfLine(id: string, turns: readonly Turn[], now: number): Chat {
  return {
    ...emptyChat(id, now),
    turns: Object.fromEntries(turns.map((turn) => [turn.id, turn])),
    chosen: Object.fromEntries(turns.map((turn) => [turn.parent ?? root, turn.id])),
  };
}

/** The chosen turns, from the first to the last. */
export function pathOf({ turns, chosen }: Pick<Chat, 'turns' | 'chosen'>): Turn[] {
  const path: Turn[] = [];
  // An imported file may contain a cycle.
  const seen = new Set<string>();
  for (let next = chosen[root]; next !== undefined && !seen.has(next); next = chosen[next]) {
    const turn = turns[next];
    if (!turn) break;
    seen.add(next);
    path.push(turn);
  }
  return path;
}

/** The path to any turn of the tree. */
export function pathTo({ turns }: Pick<Chat, 'turns'>, id: string | null): Turn[] {
  const path: Turn[] = [];
  const seen = new Set<string>();
  for (let next = id; next !== null && !seen.has(next); ) {
    const turn: Turn | undefined = turns[next];
    if (!turn) break;
    seen.add(next);
    path.unshift(turn);
    next = turn.parent;
  }
  return path;
}

export function leafOf(chat: Chat): Turn | undefined {
  return pathOf(chat).at(-1);
}

/** The comparison that is shown at the end of a chat; undefined if its replies are not there any more, such as after Undo. */
export function openComparison(chat: Chat): (Comparison & { readonly parent: string | null }) | undefined {
  const { comparison, turns } = chat;
  const last = comparison && leafOf(chat);
  if (!last || !comparison.candidates.some(({ id }) => id === last.id)) return undefined;
  const candidates = comparison.candidates.filter(({ id }) => turns[id]);
  return candidates.length > 1 ? { ...comparison, candidates, parent: last.parent } : undefined;
}

/** All versions by parent, oldest first; in one pass, since long chats have many turns. */
export function branchesOf({ turns }: Pick<Chat, 'turns'>): Map<string | null, Turn[]> {
  const branches = new Map<string | null, Turn[]>();
  for (const turn of Object.values(turns)) {
    const siblings = branches.get(turn.parent);
    if (siblings) siblings.push(turn);
    else branches.set(turn.parent, [turn]);
  }
  for (const siblings of branches.values()) siblings.sort((a, b) => a.at - b.at);
  return branches;
}

/** Adds a turn and chooses it. */
export function withTurn(chat: Chat, turn: Turn): Chat {
  return touched(
    {
      ...chat,
      turns: { ...chat.turns, [turn.id]: turn },
      chosen: { ...chat.chosen, [turn.parent ?? root]: turn.id },
    },
    turn.at,
  );
}

/** Undefined fields are removed. */
export function withChange(chat: Chat, id: string, change: Changes<Turn>): Chat {
  const turn = chat.turns[id];
  if (!turn) return chat;
  return touched({ ...chat, turns: { ...chat.turns, [id]: withFields(turn, change) } }, chat.changedAt);
}

/** Chooses this turn and the path to it. */
export function withChosen(chat: Chat, id: string): Chat {
  const steps = pathTo(chat, id).map((turn) => [turn.parent ?? root, turn.id]);
  return touched({ ...chat, chosen: { ...chat.chosen, ...Object.fromEntries(steps) } }, chat.changedAt);
}

/** Removes a turn with everything below it. Another version is chosen instead, if there is one. */
export function withoutTurn(chat: Chat, id: string): Chat {
  const turn = chat.turns[id];
  if (!turn) return chat;
  const branches = branchesOf(chat);
  const removed = withDescendants(id, branches);
  const turns = Object.fromEntries(Object.entries(chat.turns).filter(([key]) => !removed.has(key)));
  const chosen = choicesWithout(chat, removed);
  const heir = nearestSibling(turn, branches);
  if (chat.chosen[turn.parent ?? root] === id && heir) chosen[turn.parent ?? root] = heir.id;
  return touched({ ...chat, turns, chosen }, chat.changedAt);
}

/** Removes one turn and the tool results that belong to it. What follows is attached to the turn before it. */
export function withoutMessage(chat: Chat, id: string): Chat {
  const turn = chat.turns[id];
  if (!turn) return chat;
  const branches = branchesOf(chat);
  const removed = withDescendants(id, branches, ({ role }) => role === 'tool');
  const parentOf = (key: string | null): string | null => {
    let parent = key;
    while (parent !== null && removed.has(parent)) parent = chat.turns[parent]?.parent ?? null;
    return parent;
  };
  const turns = Object.fromEntries(
    Object.values(chat.turns)
      .filter((one) => !removed.has(one.id))
      .map((one) => [one.id, removed.has(one.parent ?? '') ? { ...one, parent: parentOf(one.parent) } : one]),
  );
  const chosen = choicesWithout(chat, removed);
  if (chat.chosen[turn.parent ?? root] === id) {
    let next: string | undefined = id;
    while (next !== undefined && removed.has(next)) next = chat.chosen[next];
    const heir = next ?? nearestSibling(turn, branches)?.id;
    if (heir !== undefined) chosen[turn.parent ?? root] = heir;
  }
  const { summary, ...rest } = chat;
  const upTo = summary && parentOf(summary.upTo);
  return touched(
    { ...rest, turns, chosen, ...(summary && upTo ? { summary: { ...summary, upTo } } : {}) },
    chat.changedAt,
  );
}

type Branches = ReturnType<typeof branchesOf>;

/** The ids of a turn and of all below it, or of those below it that are connected by turns of this kind. */
function withDescendants(id: string, branches: Branches, includes: (turn: Turn) => boolean = () => true): Set<string> {
  const ids = new Set([id]);
  for (const one of ids) for (const child of branches.get(one) ?? []) if (includes(child)) ids.add(child.id);
  return ids;
}

function choicesWithout({ chosen }: Chat, removed: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(chosen).filter(([key, child]) => !removed.has(key) && !removed.has(child)));
}

/** The version of a turn before it, else the one after it. */
function nearestSibling({ id, parent }: Turn, branches: Branches): Turn | undefined {
  const siblings = branches.get(parent) ?? [];
  const at = siblings.findIndex((one) => one.id === id);
  return siblings[at - 1] ?? siblings[at + 1];
}

/** A new chat with the turns shown up to this one, and the settings of the chat. */
export function forked(
  chat: Chat,
  id: string,
  title: string,
  { newId, now }: { newId: () => string; now: number },
): Chat {
  const path = pathOf(chat);
  const at = path.findIndex((turn) => turn.id === id);
  const results = path.slice(at + 1).findIndex(({ role }) => role !== 'tool');
  const copied = path.slice(0, results === -1 ? undefined : at + 1 + results);
  const ids = new Map(copied.map((turn) => [turn.id, newId()]));
  const turns = copied.map(({ pending: _, ...turn }) => ({
    ...turn,
    id: ids.get(turn.id) ?? turn.id,
    parent: turn.parent === null ? null : (ids.get(turn.parent) ?? null),
  }));
  const { summary, pinned: _, queued: __, comparison: ___, ...rest } = chat;
  const upTo = ids.get(summary?.upTo ?? '');
  return {
    ...rest,
    ...chatOfLine(newId(), turns, now),
    folder: chat.folder,
    title,
    titled: true,
    ...(summary && upTo !== undefined ? { summary: { ...summary, upTo } } : {}),
  };
}

export function renamed(chat: Chat, title: string): Chat {
  const trimmed = title.trim();
  return touched({ ...chat, titled: trimmed !== '', title: trimmed }, chat.changedAt);
}

export function titleFrom(text: string): string {
  const line = text.trim().split('\n', 1)[0]?.replace(/\s+/g, ' ') ?? '';
  const characters = [...line];
  if (characters.length <= maxTitle) return line;
  const cut = characters.slice(0, maxTitle).join('');
  const space = cut.lastIndexOf(' ');
  return `${(space > maxTitle / 2 ? cut.slice(0, space) : cut).trimEnd()} …`;
}

function touched(chat: Chat, at: number): Chat {
  return withTitle({ ...chat, changedAt: Math.max(chat.changedAt, at) });
}

/** The title is that of the first message, unless the person has set another. */
export function withTitle(chat: Chat): Chat {
  if (chat.titled) return chat;
  const first = pathOf(chat).find(({ role }) => role === 'user');
  const title = first ? titleFrom(first.text || (first.attachments?.[0]?.name ?? '')) : '';
  return title === chat.title ? chat : { ...chat, title };
}
