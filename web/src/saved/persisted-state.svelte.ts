import { fieldsOf, jsonIn } from '../api/loose.ts';

/** Settings that are kept in local storage; missing fields have their defaults. */
export function persistedState<State extends object>(name: string, defaults: State): State {
  const state = $state({ ...structuredClone(defaults), ...fieldsOf(jsonIn(localStorage.getItem(name))) }) as State;
  $effect.root(() => {
    $effect(() => {
      const text = JSON.stringify(state);
      try {
        localStorage.setItem(name, text);
      } catch {
        // The storage is full: kept while the page is open.
      }
    });
  });
  return state;
}
