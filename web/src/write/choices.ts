import type { Choice } from '../story/story.ts';

/** The text up to the token at this place, and another one instead of it. The tokens are the end of the text. */
export function beginningWith(text: string, choices: readonly Choice[], at: number, instead: string): string {
  const reply = choices.map((choice) => choice.text).join('');
  const before = choices
    .slice(0, at)
    .map((choice) => choice.text)
    .join('');
  // A kept reply may have lost the space before it, or what follows a stop text.
  const start = Math.max(0, text.lastIndexOf(reply.trim().slice(0, 200)));
  const trimmed = reply.length - reply.trimStart().length;
  const lost = text.slice(0, start).endsWith(reply.slice(0, trimmed)) ? 0 : trimmed;
  const begin = text.slice(0, start - (lost === 0 ? trimmed : 0));
  return begin + (before + instead).slice(lost);
}
