/** The open view and item, stored in the URL fragment. */
export const views = ['chat', 'write', 'draw', 'sound', 'knowledge'] as const;
export type View = (typeof views)[number];

export interface Place {
  readonly view: View;
  readonly id?: string;
}

/** `/lcpp/`, used by llama.cpp clients, always opens the chat; other addresses open the last view. */
export function placeOf(hash: string, fallback: View): Place {
  const [view = '', id] = hash.replace(/^#\/?/, '').split('/');
  if (!(views as readonly string[]).includes(view)) return { view: fallback };
  return id ? { view: view as View, id: decodeURIComponent(id) } : { view: view as View };
}

export function hashOf({ view, id }: Place): string {
  return id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

const lastView = 'parley.view';

function current(): Place {
  const remembered = placeOf(`#/${localStorage.getItem(lastView) ?? ''}`, 'chat').view;
  return placeOf(location.hash, /\/lcpp\/?$/.test(location.pathname) ? 'chat' : remembered);
}

export const navigation = $state<{ place: Place }>({ place: current() });

addEventListener('hashchange', () => {
  // Opens a dialog over the current place.
  if (location.hash.startsWith('#/settings')) return;
  navigation.place = current();
  localStorage.setItem(lastView, navigation.place.view);
});

export function go(place: Place, { replace = false } = {}): void {
  if (hashOf(place) === location.hash) return;
  if (!replace) {
    location.hash = hashOf(place);
    return;
  }
  history.replaceState(null, '', hashOf(place));
  navigation.place = place;
}

/** Shows the result of long work, unless the person has gone to another view meanwhile. */
export function showResult(place: Place): boolean {
  if (navigation.place.view !== place.view) return false;
  go(place, { replace: true });
  return true;
}
