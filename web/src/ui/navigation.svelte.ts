/** The open view and item, stored in the URL fragment. */
export const views = ['chat', 'write', 'draw', 'sound', 'knowledge'] as const;
export type View = (typeof views)[number];

export interface Route {
  readonly view: View;
  readonly id?: string;
}

/** `/lcpp/`, used by llama.cpp clients, always opens the chat; other addresses open the last view. */
export function routeOf(hash: string, fallback: View): Route {
  const [view = '', id] = hash.replace(/^#\/?/, '').split('/');
  if (!(views as readonly string[]).includes(view)) return { view: fallback };
  return id ? { view: view as View, id: decodeURIComponent(id) } : { view: view as View };
}

export function hashOf({ view, id }: Route): string {
  return id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

const lastView = 'parley.view';

function current(): Route {
  const remembered = routeOf(`#/${localStorage.getItem(lastView) ?? ''}`, 'chat').view;
  return routeOf(location.hash, /\/lcpp\/?$/.test(location.pathname) ? 'chat' : remembered);
}

export const navigation = $state<{ route: Route }>({ route: current() });

addEventListener('hashchange', () => {
  // Opens a dialog over the current place.
  if (location.hash.startsWith('#/settings')) return;
  navigation.route = current();
  localStorage.setItem(lastView, navigation.route.view);
});

export function go(route: Route, { replace = false } = {}): void {
  if (hashOf(route) === location.hash) return;
  if (!replace) {
    location.hash = hashOf(route);
    return;
  }
  history.replaceState(null, '', hashOf(route));
  navigation.route = route;
}

/** Shows the result of long work, unless the person has gone to another view meanwhile. */
export function showResult(route: Route): boolean {
  if (navigation.route.view !== route.view) return false;
  go(route, { replace: true });
  return true;
}
