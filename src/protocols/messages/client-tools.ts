import type { Tool } from '../../chat/messages.ts';

const string = { type: 'string' } as const;
const integer = { type: 'integer' } as const;
const range = { type: 'array', items: integer, minItems: 2, maxItems: 2 } as const;
const choice = (...values: readonly string[]) => ({ type: 'string', enum: values });

/** What the commands on files take. */
const edits = {
  path: string,
  view_range: range,
  file_text: string,
  old_str: string,
  new_str: string,
  insert_line: integer,
  insert_text: string,
} as const;

/**
 * Tools that the client runs but does not describe, because models of the original service know them by heart. Other
 * models are told; the dates at the end of the types only tell versions apart.
 */
const known: readonly { readonly prefix: string; readonly tool: Omit<Tool, 'name'> }[] = [
  {
    prefix: 'bash_',
    tool: {
      description: 'Runs a command in a shell that stays open between calls, or starts that shell anew.',
      parameters: { type: 'object', properties: { command: string, restart: { type: 'boolean' } } },
    },
  },
  {
    prefix: 'text_editor_',
    tool: {
      description:
        'Views and edits text files. view shows a file (view_range: first and last line) or a folder; create writes ' +
        'file_text; str_replace puts new_str where old_str stands exactly once; insert puts new_str (insert_text) ' +
        'after the line insert_line.',
      parameters: {
        type: 'object',
        properties: {
          command: choice('view', 'create', 'str_replace', 'insert'),
          ...edits,
        },
        required: ['command', 'path'],
      },
    },
  },
  {
    prefix: 'memory_',
    tool: {
      description:
        'Keeps notes in files below /memories for later conversations. view, create, str_replace, insert and delete ' +
        'take a path; rename takes old_path and new_path.',
      parameters: {
        type: 'object',
        properties: {
          command: choice('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
          ...edits,
          old_path: string,
          new_path: string,
        },
        required: ['command'],
      },
    },
  },
];

export function clientTool(type: string, name: string): Tool | undefined {
  const found = known.find(({ prefix }) => type.startsWith(prefix));
  return found && { name, ...found.tool };
}
