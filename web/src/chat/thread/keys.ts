/** Whether a key belongs to a field. An empty text field needs no keys that move the caret. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  const field = target.closest(
    'input, textarea, select, [contenteditable], [role="menu"], [role="slider"], audio, video',
  );
  if (!field) return false;
  return !(field instanceof HTMLTextAreaElement && field.value === '');
}
