import { newId } from './id.ts';

/** This tab, or window of the installed app, until it is reloaded. */
export const tabId = newId();
