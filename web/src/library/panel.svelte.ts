import { chatRecords } from '../conversations/library.svelte.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { library as stories } from '../story/library.svelte.ts';
import { type Item, type ItemKind, itemGroups, itemsOf, matchingItems } from './items.ts';

/** How the list is shown, kept in the browser. */
export const listSettings = persistedState<{ open: boolean; kind: ItemKind | 'all'; closed: string[] }>('parley.list', {
  open: true,
  kind: 'all',
  closed: [],
});

/** State of the list; one for all pages. */
export const panel = $state({
  /** As a drawer over the page. */
  narrow: false,
  drawerOpen: false,
  query: '',
  /** The search field takes the focus once it is there. */
  searchWanted: false,
  selecting: false,
  selected: [] as string[],
  /** Id of the item whose title field opens. */
  renaming: undefined as string | undefined,
  /** Ids of the items whose folder is asked for. */
  moving: [] as readonly string[],
});

export function isListOpen(): boolean {
  return panel.narrow ? panel.drawerOpen : listSettings.open;
}

export function setListOpen(open: boolean): void {
  if (panel.narrow) panel.drawerOpen = open;
  else listSettings.open = open;
}

export function allItems(): Item[] {
  return itemsOf(chatRecords.all, stories.stories);
}

/** Groups as they are shown, also used to go to the next chat. */
export function shownGroups() {
  const kind = listSettings.kind === 'all' ? undefined : listSettings.kind;
  return itemGroups(matchingItems(allItems(), panel.query, kind), new Date());
}

export function endSelection(): void {
  panel.selecting = false;
  panel.selected = [];
}
