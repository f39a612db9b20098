import type { ChatAdapter, Guess } from './adapter.ts';

export interface Guessed {
  readonly name: string;
  readonly adapter: ChatAdapter;
}

/** The first format whose every search string occurs in the model's template. */
export function guessAdapter(template: string | undefined, list: readonly Guess[]): Guessed | undefined {
  if (!template) return undefined;
  const found = list.find(({ search }) => search.every((text) => template.includes(text)));
  return found && { name: found.name, adapter: found.adapter };
}
