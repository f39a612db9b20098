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

interface Command {
  /** The word for what is written after it. */
  readonly argument?: 'prompt' | 'message' | 'name';
  /** Not while a reply is running. */
  readonly waits?: true;
  readonly isPossible: (possible: Possible) => boolean;
}

const inChat = ({ hasModel, begun }: Possible): boolean => hasModel && begun;

export const commands: Readonly<Record<CommandName, Command>> = {
  retry: { waits: true, isPossible: inChat },
  continue: { waits: true, isPossible: inChat },
  impersonate: { waits: true, isPossible: ({ hasModel, characters }) => hasModel && characters },
  image: { argument: 'prompt', waits: true, isPossible: ({ hasImages }) => hasImages },
  system: { argument: 'prompt', isPossible: () => true },
  compare: { argument: 'message', waits: true, isPossible: ({ hasModel }) => hasModel },
  search: { argument: 'message', isPossible: ({ hasModel, hasSearch }) => hasModel && hasSearch },
  summarize: { waits: true, isPossible: inChat },
  new: { isPossible: () => true },
  model: { argument: 'name', isPossible: ({ models }) => models > 1 },
};

/** An entry of the list behind `/`. */
export type Entry =
  | { readonly id: string; readonly kind: 'command'; readonly name: CommandName; readonly label: string }
  | { readonly id: string; readonly kind: 'reply'; readonly reply: QuickReply; readonly label: string };

/** Own quick replies, then commands; those that begin with what is typed first. */
export function entriesFor(query: string, possible: Possible, replies: readonly QuickReply[]): readonly Entry[] {
  const all: readonly Entry[] = [
    ...commandNames
      .filter((name) => commands[name].isPossible(possible))
      .map((name): Entry => ({ id: `command.${name}`, kind: 'command', name, label: name })),
    ...replies.map((reply): Entry => ({ id: `reply.${reply.id}`, kind: 'reply', reply, label: reply.label })),
  ];
  return completions(all, query, ({ label }) => label);
}
