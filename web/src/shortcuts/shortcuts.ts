import type { SendKey } from '../composer/send-key.ts';
import { texts } from './texts.ts';

export type Action = keyof typeof texts.labels;

interface Shortcut {
  readonly action: Action;
  readonly group: keyof typeof texts.groups;
  /** Such as `Alt+N`. `Mod` is Ctrl, or Command on Apple systems. */
  readonly keys: readonly string[];
  /** Where it applies: everywhere, not while something is typed, or only in the part of the page that handles it. */
  readonly where: 'anywhere' | 'outside-fields' | 'local';
  readonly note?: string;
}

/**
 * All shortcuts of the pages. Those that are not `local` are handled by `actionOf`. None of them is a shortcut of Chrome,
 * Edge, Firefox or Safari: Alt+D, E and F, Alt with a digit and Ctrl with most letters are theirs.
 */
export const shortcuts: readonly Shortcut[] = [
  { action: 'newChat', group: 'app', keys: ['Alt+N'], where: 'anywhere' },
  { action: 'search', group: 'app', keys: ['Alt+K'], where: 'anywhere' },
  { action: 'toggleList', group: 'app', keys: ['Alt+L'], where: 'anywhere' },
  { action: 'previousItem', group: 'app', keys: ['Alt+PageUp'], where: 'anywhere' },
  { action: 'nextItem', group: 'app', keys: ['Alt+PageDown'], where: 'anywhere' },
  { action: 'settings', group: 'app', keys: ['Mod+,'], where: 'anywhere' },
  { action: 'sheet', group: 'app', keys: ['?'], where: 'outside-fields', note: texts.notes.outsideFields },
  { action: 'sheet', group: 'app', keys: ['Mod+/'], where: 'anywhere' },
  { action: 'focusMessage', group: 'chat', keys: ['Alt+I'], where: 'anywhere' },
  { action: 'stop', group: 'chat', keys: ['Escape'], where: 'anywhere' },
  { action: 'retry', group: 'chat', keys: ['Alt+R'], where: 'anywhere' },
  { action: 'find', group: 'chat', keys: ['Mod+Shift+F'], where: 'anywhere' },
  { action: 'find', group: 'chat', keys: ['Mod+F'], where: 'local', note: texts.notes.longChats },
  { action: 'start', group: 'chat', keys: ['Alt+Shift+Home'], where: 'anywhere' },
  { action: 'start', group: 'chat', keys: ['Mod+Home'], where: 'local', note: texts.notes.outsideFields },
  { action: 'end', group: 'chat', keys: ['Alt+Shift+End'], where: 'anywhere' },
  { action: 'end', group: 'chat', keys: ['Mod+End'], where: 'local', note: texts.notes.outsideFields },
  {
    action: 'versions',
    group: 'chat',
    keys: ['ArrowLeft', 'ArrowRight'],
    where: 'local',
    note: texts.notes.outsideFields,
  },
  { action: 'undo', group: 'chat', keys: ['Mod+Z'], where: 'outside-fields', note: texts.notes.outsideFields },
  {
    action: 'redo',
    group: 'chat',
    keys: ['Mod+Shift+Z', 'Mod+Y'],
    where: 'outside-fields',
    note: texts.notes.outsideFields,
  },
  { action: 'send', group: 'message', keys: ['Enter'], where: 'local' },
  { action: 'newLine', group: 'message', keys: ['Shift+Enter'], where: 'local' },
  { action: 'editLast', group: 'message', keys: ['ArrowUp'], where: 'local', note: texts.notes.emptyField },
  { action: 'moveInList', group: 'list', keys: ['ArrowUp', 'ArrowDown'], where: 'local' },
  { action: 'openItem', group: 'list', keys: ['Enter'], where: 'local' },
  { action: 'renameItem', group: 'list', keys: ['F2'], where: 'local' },
  { action: 'deleteItem', group: 'list', keys: ['Delete'], where: 'local' },
];

type Pressed = Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>;

export interface Surroundings {
  /** Something is typed: the target is a text field. */
  readonly typing: boolean;
  readonly apple: boolean;
}

/** The action of this key; undefined if there is none. */
export function actionOf(event: Pressed, { typing, apple }: Surroundings): Action | undefined {
  const shortcut = shortcuts.find(
    ({ keys, where }) =>
      where !== 'local' && !(where === 'outside-fields' && typing) && keys.some((key) => matches(event, key, apple)),
  );
  return shortcut?.action;
}

function matches(event: Pressed, keys: string, apple: boolean): boolean {
  const parts = keys.split('+');
  const key = parts.at(-1) ?? '';
  const mod = parts.includes('Mod');
  if (event.altKey !== parts.includes('Alt')) return false;
  if ((apple ? event.metaKey : event.ctrlKey) !== mod || (apple ? event.ctrlKey : event.metaKey)) return false;
  // A sign such as `?` may need Shift, or not, by the layout of the keyboard.
  if (/^\w/.test(key) && event.shiftKey !== parts.includes('Shift')) return false;
  if (event.key.toLowerCase() === key.toLowerCase()) return true;
  // With Alt, Apple keyboards write other characters.
  return event.altKey && !/^[a-z]$/i.test(event.key) && event.code === `Key${key.toUpperCase()}`;
}

/** Keys as people read them, such as `⌥N` and `Ctrl+,`. */
export function keysLabel(keys: string, apple: boolean): string {
  const signs: Readonly<Record<string, string>> = { Mod: '⌘', Alt: '⌥', Shift: '⇧' };
  const parts = keys.split('+').map((part) => {
    if (apple && signs[part]) return signs[part];
    return part === 'Mod' ? 'Ctrl' : (texts.keys[part] ?? part);
  });
  return parts.join(apple ? '' : '+');
}

interface SheetRow {
  readonly action: Action;
  readonly keys: readonly { readonly keys: string; readonly note?: string }[];
}

/** The rows of the sheet by group, one for each action. The keys of the message follow the setting. */
export function sheetRows(
  sendKey: SendKey,
): { readonly group: Shortcut['group']; readonly rows: readonly SheetRow[] }[] {
  const messageKeys: Partial<Record<Action, readonly string[]>> =
    sendKey === 'enter' ? {} : { send: ['Mod+Enter'], newLine: ['Enter'] };
  return (Object.keys(texts.groups) as Shortcut['group'][]).map((group) => {
    const rows = new Map<Action, SheetRow>();
    for (const { action, keys, note } of shortcuts.filter((shortcut) => shortcut.group === group)) {
      const more = (messageKeys[action] ?? keys).map((one) => ({ keys: one, ...(note === undefined ? {} : { note }) }));
      rows.set(action, { action, keys: [...(rows.get(action)?.keys ?? []), ...more] });
    }
    return { group, rows: [...rows.values()] };
  });
}
