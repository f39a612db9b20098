/** Undo history. States share unchanged parts, so many of them use little memory. */
export interface History<State> {
  readonly past: readonly State[];
  readonly future: readonly State[];
}

export const emptyHistory = { past: [], future: [] } as const;
const longest = 200;

/** Adds the state before a change; redo is no longer possible. */
export function remember<State>({ past }: History<State>, state: State): History<State> {
  return { past: [...past, state].slice(-longest), future: [] };
}

export function undo<State>(history: History<State>, now: State): [History<State>, State] | undefined {
  const state = history.past.at(-1);
  if (state === undefined) return undefined;
  return [{ past: history.past.slice(0, -1), future: [now, ...history.future] }, state];
}

export function redo<State>(history: History<State>, now: State): [History<State>, State] | undefined {
  const [state, ...future] = history.future;
  if (state === undefined) return undefined;
  return [{ past: [...history.past, now], future }, state];
}
