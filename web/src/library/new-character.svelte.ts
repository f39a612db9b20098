import { begin } from './actions.ts';

/** Starts a chat with a character. */
export function startCharacterChat(): void {
  void begin('chat');
}
