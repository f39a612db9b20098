import { picker } from '../characters/picker.svelte.ts';

/** Opens the characters, to start a chat with one of them. */
export function startCharacterChat(): void {
  picker.open = true;
}
