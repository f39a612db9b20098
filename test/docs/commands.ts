/** The commands of a page, as a reader would copy them. */

export interface ShownCommand {
  readonly command: string;
  /** The block that follows the command, where it shows what comes back. */
  readonly output?: string;
}

/** Fenced blocks with their language, in order; `after` is the text between a block and the next one. */
interface Block {
  readonly language: string;
  readonly text: string;
  readonly after: string;
}

function blocksOf(page: string): Block[] {
  const sections = page.split(/^```(\w*)\n([\s\S]*?)^```$/gm);
  const blocks: Block[] = [];
  for (let index = 1; index + 2 < sections.length; index += 3)
    blocks.push({ language: sections[index] ?? '', text: sections[index + 1] ?? '', after: sections[index + 2] ?? '' });
  return blocks;
}

/** The commands of all shell blocks. A block of another language directly behind one is the output of its last command. */
export function shellCommands(page: string): ShownCommand[] {
  const blocks = blocksOf(page);
  return blocks.flatMap(({ language, text, after }, index) => {
    if (language !== 'sh') return [];
    const next = after.trim() === '' ? blocks[index + 1] : undefined;
    const output = next && next.language !== 'sh' ? next.text : undefined;
    const commands = commandsOf(text);
    return commands.map((command, position) =>
      output !== undefined && position === commands.length - 1 ? { command, output } : { command },
    );
  });
}

/** Lines that belong together: inside of quotes, and after a backslash, a pipe or `&&`. Comments are left out. */
function commandsOf(block: string): string[] {
  const commands: string[] = [];
  let command = '';
  for (const line of block.split('\n')) {
    command += command === '' ? line : `\n${line}`;
    const openQuotes = (command.split("'").length - 1) % 2 === 1;
    if (openQuotes || /(?:\\|\||&&)\s*$/.test(line)) continue;
    if (command.trim() !== '' && !command.trimStart().startsWith('#')) commands.push(command.trim());
    command = '';
  }
  return commands;
}

/** Commands within sentences: code that begins with the name of a program that readers have. */
export function inlineCommands(page: string): string[] {
  const sentences = page.replace(/^```\w*\n[\s\S]*?^```$/gm, '');
  const code = [...sentences.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
  return [...new Set(code.filter((text) => /^(?:curl|parley|npm|npx|git|node) /.test(text)))];
}

export interface CurlRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
}

/** What a curl command asks a server on this machine for; undefined where it asks another one. */
export function curlRequest(command: string): CurlRequest | undefined {
  const [, path] = /\bcurl\b[^|]*?\s"?(?:http:\/\/)?localhost:5001(\/[^\s"'|]*)/.exec(command) ?? [];
  if (path === undefined) return undefined;
  const [, named] = /\s-X\s*([A-Z]+)/.exec(command) ?? [];
  return { method: named ?? (/\s(?:-d|-F|--data\S*)\s/.test(command) ? 'POST' : 'GET'), path };
}
