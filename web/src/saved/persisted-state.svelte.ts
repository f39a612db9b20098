/** A small record of settings that is kept in the browser; fields that are not there yet have their defaults. */
export function persistedState<State extends object>(name: string, defaults: State): State {
  const state = $state({ ...structuredClone(defaults), ...stored(name) }) as State;
  $effect.root(() => {
    $effect(() => {
      const text = JSON.stringify(state);
      try {
        localStorage.setItem(name, text);
      } catch {
        // Kept for as long as the page is open.
      }
    });
  });
  return state;
}

function stored(name: string): object {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
