/** Commands that are typed as `/name argument`. */
export const commandNames = [
  ...(['retry', 'continue', 'impersonate', 'image', 'system'] as const),
  ...(['compare', 'search', 'summarize', 'new', 'model'] as const),
] as const;
export type CommandName = (typeof commandNames)[number];

export interface SlashCommand {
  readonly name: CommandName;
  readonly argument: string;
}

/** The command of a text; undefined for other texts, such as a path. A space before the slash makes it a message. */
export function commandIn(text: string): SlashCommand | undefined {
  const [, name, argument = ''] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/i.exec(text.trimEnd()) ?? [];
  const known = commandNames.find((one) => one === name?.toLowerCase());
  return known && { name: known, argument: argument.trim() };
}

/** The names of all commands of a script of SillyTavern: `/one … | /two …`. */
export function commandsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/(?:^|[|\n{])\s*\/([a-z][\w-]*)/gi)].map(([, name = '']) => name))];
}

/** What is being typed behind `/`: the name of a command, or that of a model. */
export interface Typed {
  readonly kind: 'command' | 'model';
  readonly query: string;
}

export function slashAt(text: string, caret: number): Typed | undefined {
  const before = text.slice(0, caret);
  const model = /^\/model[ \t]+([^\n]{0,200})$/i.exec(before)?.[1];
  if (model !== undefined) return { kind: 'model', query: model.trim() };
  const query = /^\/([^\s/]{0,60})$/.exec(before)?.[1];
  return query === undefined ? undefined : { kind: 'command', query };
}
