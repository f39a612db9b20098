export type SendKey = 'enter' | 'ctrl-enter';

type Pressed = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey' | 'isComposing'>;

/** True if this key sends the message. On touch screens Enter makes a new line, and the button sends. */
export function sends(event: Pressed, sendKey: SendKey, touch: boolean): boolean {
  // During composition Enter accepts the suggestion of the input method.
  if (event.key !== 'Enter' || event.isComposing || event.shiftKey || event.altKey) return false;
  return event.ctrlKey || event.metaKey || (sendKey === 'enter' && !touch);
}
