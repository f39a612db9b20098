import { type Action, actionOf } from './shortcuts.ts';

export const isApple = /mac|iphone|ipad/i.test(navigator.platform ?? '');

/** The sheet that lists the shortcuts. */
export const sheet = $state({ open: false });

/** Returns false if there is nothing to do now, so that the key does what it does otherwise. */
type Handler = () => unknown;
const handlers = new Map<Action, Handler[]>();

/** Handles actions while a page is open. The newest handler counts. Returns how to end it. */
export function handleShortcuts(actions: Partial<Record<Action, Handler>>): () => void {
  const entries = Object.entries(actions) as [Action, Handler][];
  for (const [action, handler] of entries) handlers.set(action, [...(handlers.get(action) ?? []), handler]);
  return () => {
    for (const [action, handler] of entries)
      handlers.set(
        action,
        (handlers.get(action) ?? []).filter((one) => one !== handler),
      );
  };
}

/** Runs an action as its key would. Returns false if nothing handles it now. */
export function run(action: Action): boolean {
  const handler = handlers.get(action)?.at(-1);
  return handler !== undefined && handler() !== false;
}

/** The listener of the window. Keys that a part of the page has handled are left alone, and so are open dialogs. */
export function onShortcut(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const action = actionOf(event, { typing: isTextField(event.target), apple: isApple });
  if (action === undefined) return;
  if (document.querySelector('dialog[open]') && action !== 'toggleList') return;
  if (run(action)) event.preventDefault();
}

const noText = new Set(['button', 'checkbox', 'radio', 'range', 'color', 'file', 'submit', 'reset', 'image']);

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !noText.has(target.type);
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}
