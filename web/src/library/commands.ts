import { go, navigation } from '../ui/navigation.svelte.ts';
import { begin, placeOfItem } from './actions.ts';
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
  const item = neighbour(shownGroups(), navigation.place.id, by);
  if (item) go(placeOfItem(item));
}

function hasList(): boolean {
  return navigation.place.view === 'chat' || navigation.place.view === 'write';
}
