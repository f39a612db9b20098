import type { QuickReply } from '../../quick-replies/sets.ts';
import { type CommandName, commandNames } from '../../quick-replies/slash.ts';
import { completions } from '../../ui/completions.ts';

/** What the commands of a chat depend on. */
export interface Possible {
  readonly hasModel: boolean;
  readonly hasImages: boolean;
  readonly hasSearch: boolean;
  /** The chat has messages. */
  readonly begun: boolean;
  readonly characters: boolean;
  /** Models to choose from. */
  readonly models: number;
}

/** The word for what is written after a command; `required` if it does nothing without. */
export const commandArguments: Partial<
  Record<CommandName, { readonly word: 'prompt' | 'message' | 'name'; readonly required: boolean }>
> = {
  image: { word: 'prompt', required: false },
  system: { word: 'prompt', required: false },
  compare: { word: 'message', required: false },
  search: { word: 'message', required: true },
  model: { word: 'name', required: true },
};

export function isPossible(name: CommandName, possible: Possible): boolean {
  const { hasModel, hasImages, hasSearch, begun, characters, models } = possible;
  switch (name) {
    case 'image':
      return hasImages;
    case 'search':
      return hasModel && hasSearch;
    case 'impersonate':
      return hasModel && characters;
    case 'retry':
    case 'continue':
    case 'summarize':
      return hasModel && begun;
    case 'compare':
      return hasModel;
    case 'model':
      return models > 1;
    default:
      return true;
  }
}

/** An entry of the list behind `/`. */
export type Entry =
  | { readonly id: string; readonly kind: 'command'; readonly name: CommandName; readonly label: string }
  | { readonly id: string; readonly kind: 'reply'; readonly reply: QuickReply; readonly label: string };

/** Own quick replies, then commands; those that begin with what is typed first. */
export function entriesFor(query: string, possible: Possible, replies: readonly QuickReply[]): readonly Entry[] {
  const all: readonly Entry[] = [
    ...commandNames
      .filter((name) => isPossible(name, possible))
      .map((name): Entry => ({ id: `command.${name}`, kind: 'command', name, label: name })),
    ...replies.map((reply): Entry => ({ id: `reply.${reply.id}`, kind: 'reply', reply, label: reply.label })),
  ];
  return completions(all, query, ({ label }) => label);
}
