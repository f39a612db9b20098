import type { RegexScript } from '../conversations/regex-script.ts';
import { Records } from '../saved/records.svelte.ts';

interface ScriptList {
  readonly id: string;
  readonly changedAt: number;
  readonly scripts: readonly RegexScript[];
}

const lists = new Records<ScriptList>('scripts');
const general = 'general';

/** The regex scripts for all characters. */
export function generalScripts(): readonly RegexScript[] {
  return lists.find(general)?.scripts ?? [];
}

export function loadGeneralScripts(): Promise<void> {
  return lists.load();
}

export function areScriptsLoaded(): boolean {
  return lists.loaded;
}

export function changeGeneralScripts(make: (scripts: readonly RegexScript[]) => readonly RegexScript[]): void {
  lists.put({ id: general, changedAt: Date.now(), scripts: make(generalScripts()) });
}
