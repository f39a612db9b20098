/** Finds and replaces texts in messages. */
export interface RegexScript {
  readonly id: string;
  readonly name: string;
  /** `/source/flags`, or the source alone. */
  readonly find: string;
  /** `{{match}}` stands for the match, `$1` and `$<name>` for its groups. */
  readonly replace: string;
  /** Removed from what they stand for. */
  readonly trim: readonly string[];
  readonly on: boolean;
  readonly user: boolean;
  readonly reply: boolean;
  /** What changes: the message itself, only what is shown, only what is sent, or both of these. */
  readonly where: 'chat' | 'shown' | 'sent' | 'shown-and-sent';
  /** Also applied when a message is edited. */
  readonly onEdit: boolean;
  /** What happens with macros in `find`: they are resolved as they are, or as plain text. */
  readonly macros: 'none' | 'raw' | 'escaped';
  /** Messages after the one: 0 for the last message. */
  readonly minDepth?: number;
  readonly maxDepth?: number;
  /** Fields of the imported file that have no counterpart here; they are written back on export. */
  readonly foreign?: Readonly<Record<string, unknown>>;
}

export function newScript(fields: Partial<RegexScript> & Pick<RegexScript, 'id'>): RegexScript {
  return {
    name: '',
    find: '',
    replace: '',
    trim: [],
    on: true,
    user: false,
    reply: true,
    where: 'shown',
    onEdit: true,
    macros: 'none',
    ...fields,
  };
}
