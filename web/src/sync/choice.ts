import { fieldsOf, jsonIn } from '../api/loose.ts';
import { settings } from '../settings/settings.svelte.ts';

/** What this browser knows of the server, in the local storage. */
export const stateName = 'parley.sync';

/** Switches it on or off by hand, before the synchronisation itself is loaded. Switched on, it is for whoever is signed in now. */
export function keepOnServer(on: boolean): void {
  if (on) {
    const state = fieldsOf(jsonIn(localStorage.getItem(stateName)));
    localStorage.setItem(stateName, JSON.stringify({ ...state, chosen: true }));
  }
  settings.keepOnServer = on;
}
