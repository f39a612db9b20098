import { fieldsOf } from '../api/loose.ts';
/** Settings that are kept in local storage; missing fields have their defaults. */
export function persistedState<State extends object>(name: string, defaults: State): State {
  const state = $state({ ...structuredClone(defaults), ...stored(name) }) as State;
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

function stored(name: string): object {
  try {
    return fieldsOf(JSON.parse(localStorage.getItem(name) ?? '{}'));
  } catch {
    return {};
  }
}
