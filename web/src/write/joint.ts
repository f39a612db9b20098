/** What comes between the end of a story and what somebody adds to it: nothing, where they have thought of it themselves. */
export function joint(before: string, added: string): string {
  if (before === '' || /\s$/.test(before) || /^[\s,.;:!?…’”)\]]/.test(added)) return '';
  return ' ';
}
