import type { Memory, MemoryLibrary } from '../../core/memories.ts';
import { type ServedTool, ToolCallError, type ToolServers, toolCallCodes } from '../../core/tool-servers.ts';
import { runMemoryCommand } from './files.ts';

const remember: ServedTool = {
  name: 'remember',
  description:
    'Keeps a fact about the user for later chats: call it when the user asks to remember something, and never on your own account.',
  inputSchema: {
    type: 'object',
    properties: { fact: { type: 'string', description: 'One sentence that can be understood without this chat.' } },
    required: ['fact'],
  },
};

const forget: ServedTool = {
  name: 'forget',
  description: 'Deletes a remembered fact when the user asks for it.',
  inputSchema: {
    type: 'object',
    properties: { fact: { type: 'string', description: 'The fact, as it was remembered.' } },
    required: ['fact'],
  },
};

/** The tool of Anthropic's API, on the same store. */
const memory: ServedTool = {
  name: 'memory',
  description: 'Reads and changes the files below /memories, which have one remembered fact in each line.',
  inputSchema: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: { type: 'string' },
      view_range: { type: 'array', items: { type: 'integer' } },
      file_text: { type: 'string' },
      old_str: { type: 'string' },
      new_str: { type: 'string' },
      insert_line: { type: 'integer' },
      insert_text: { type: 'string' },
      old_path: { type: 'string' },
      new_path: { type: 'string' },
    },
    required: ['command'],
  },
};

interface MemoryToolOptions {
  readonly library: MemoryLibrary;
  readonly character?: string | undefined;
  /** The request has the tool of Anthropic's API, which this server runs. */
  readonly asFiles: boolean;
}

/** Tools with which a model changes what is remembered. Its calls are part of the reply, so that nothing is kept unseen. */
export function memoryTools({ library, character, asFiles }: MemoryToolOptions): ToolServers {
  return {
    list: async () => (asFiles ? [memory] : [remember, forget]),
    call: async ({ name, arguments: args = {} }) => {
      if (name === memory.name) {
        const { text, failed } = await runMemoryCommand(args, library);
        return result(text, failed);
      }
      const fact = typeof args.fact === 'string' ? args.fact.trim() : '';
      if (fact === '') return result('`fact` must be a text.', true);
      if (name === remember.name) {
        const { text } = await library.add({ text: fact, character });
        return result(`Remembered: ${text}`);
      }
      if (name === forget.name) return forgotten(fact, library, character);
      throw new ToolCallError(toolCallCodes.unknownTool, `There is no tool ${name}.`);
    },
  };
}

async function forgotten(fact: string, library: MemoryLibrary, character: string | undefined) {
  const memories = await library.list(character);
  const same = memories.filter(({ text }) => plain(text) === plain(fact));
  const [match, ...others] = same.length > 0 ? same : memories.filter(({ text }) => plain(text).includes(plain(fact)));
  if (!match) return result('This is not remembered.', true);
  if (others.length > 0) return result(`Several facts have these words: ${listed([match, ...others])}`, true);
  await library.delete(match.id);
  return result(`Forgotten: ${match.text}`);
}

const listed = (memories: readonly Memory[]): string => memories.map(({ text }) => JSON.stringify(text)).join(', ');
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[\s.!]+/g, ' ')
    .trim();

function result(text: string, isError = false) {
  return { content: [{ type: 'text', text }], ...(isError && { isError }) };
}
