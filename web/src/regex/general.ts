import type { RegexScript } from '../conversations/regex-script.ts';
import { SavedList } from '../saved/saved-list.ts';

/** The regex scripts for all characters. */
export const generalScripts = new SavedList<RegexScript>('scripts', 'general', 'scripts');
