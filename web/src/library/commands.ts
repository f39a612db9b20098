import { go, navigation } from '../ui/navigation.svelte.ts';
import { begin, routeOfItem } from './actions.ts';
import { neighbour } from './items.ts';
import { isListOpen, panel, setListOpen, shownGroups } from './panel.svelte.ts';

/** Commands of keyboard shortcuts, on any page. */

export function newChat(): void {
  void begin('chat');
}

export function toggleList(): void {
  if (!hasList()) go({ view: 'chat' });
  setListOpen(!isListOpen());
}

export function searchList(): void {
  if (!hasList()) go({ view: 'chat' });
  setListOpen(true);
  panel.searchWanted = true;
}

export function openNeighbour(by: 1 | -1): void {
  const item = neighbour(shownGroups(), navigation.route.id, by);
  if (item) go(routeOfItem(item));
}

function hasList(): boolean {
  return navigation.route.view === 'chat' || navigation.route.view === 'write';
}
