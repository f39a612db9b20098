/** States that one can go back to. They share what they have in common, so that many of them cost little. */
export interface History<State> {
  readonly past: readonly State[];
  readonly future: readonly State[];
}

export const emptyHistory = { past: [], future: [] } as const;
const longest = 200;

/** Remembers a state that is about to be left; what was undone before cannot be redone any more. */
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
