import type { Memory, MemoryLibrary } from '../../core/memories.ts';
import { maxMemoryCharacters } from '../../core/memories.ts';

/**
 * The memories as files of the `memory` tool that models of Anthropic are trained on: `/memories/facts.md` has what is known about the
 * person, `/memories/NAME.md` what a character knows, one memory in each line. Changing a line changes that memory.
 */

const root = '/memories';
const personFile = 'facts';
const maxLines = 999_999;

/** Texts that a model reads as the result of its call. */
class FileProblem extends Error {}

type Arguments = Readonly<Record<string, unknown>>;

/** Runs one command of the tool. A failed one is a sentence, too. */
export async function runMemoryCommand(
  args: Arguments,
  library: MemoryLibrary,
): Promise<{ readonly text: string; readonly failed: boolean }> {
  try {
    return { text: await new MemoryFiles(library).run(args), failed: false };
  } catch (error) {
    if (error instanceof FileProblem) return { text: `Error: ${error.message}`, failed: true };
    throw error;
  }
}

interface MemoryFile {
  readonly name: string;
  readonly lines: readonly Memory[];
}

class MemoryFiles {
  constructor(private readonly library: MemoryLibrary) {}

  async run(args: Arguments): Promise<string> {
    const text = (name: string): string => {
      const value = args[name];
      if (typeof value !== 'string') throw new FileProblem(`\`${name}\` must be a text.`);
      return value;
    };
    switch (args.command) {
      case 'view':
        return this.#view(text('path'), args.view_range);
      case 'create':
        return this.#create(text('path'), text('file_text'));
      case 'str_replace':
        return this.#replace(text('path'), text('old_str'), typeof args.new_str === 'string' ? args.new_str : '');
      case 'insert':
        return this.#insert(text('path'), Number(args.insert_line), text('insert_text'));
      case 'delete':
        return this.#delete(text('path'));
      case 'rename':
        return this.#rename(text('old_path'), text('new_path'));
      default:
        throw new FileProblem('`command` must be view, create, str_replace, insert, delete or rename.');
    }
  }

  async #view(path: string, range: unknown): Promise<string> {
    if (isRoot(path)) {
      const files = await this.#files();
      const sizes = files.map((file) => ({ name: file.name, bytes: Buffer.byteLength(contentOf(file)) }));
      const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
      const lines = sizes.map(({ name, bytes }) => `${shortSize(bytes)}\t${root}/${name}.md`);
      const title = `Here're the files and directories up to 2 levels deep in ${root}, excluding hidden items and node_modules:`;
      return [title, `${shortSize(total)}\t${root}`, ...lines].join('\n');
    }
    const file = await this.#file(path);
    const all = numbered(file.lines.map(({ text }) => text));
    return `Here's the content of ${path} with line numbers:\n${inRange(all, range).join('\n')}`;
  }

  async #create(path: string, content: string): Promise<string> {
    const name = nameIn(path);
    if ((await this.#files()).some((file) => file.name === name)) throw new FileProblem(`File ${path} already exists`);
    await this.#write({ name, lines: [] }, linesOf(content));
    return `File created successfully at: ${path}`;
  }

  async #replace(path: string, old: string, text: string): Promise<string> {
    const file = await this.#file(path);
    const content = contentOf(file);
    const first = old === '' ? -1 : content.indexOf(old);
    if (first === -1)
      throw new FileProblem(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`);
    const offsets = occurrences(content, old);
    if (offsets.length > 1) {
      const lines = offsets.map((index) => content.slice(0, index).split('\n').length);
      throw new FileProblem(
        `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines.join(', ')}. Please ensure it is unique`,
      );
    }
    const lines = linesOf(content.slice(0, first) + text + content.slice(first + old.length));
    await this.#write(file, lines);
    const line = content.slice(0, first).split('\n').length;
    const snippet = numbered(lines).slice(Math.max(0, line - 3), line + 2);
    return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet.join('\n')}`;
  }

  async #insert(path: string, line: number, text: string): Promise<string> {
    const file = await this.#file(path);
    const { length } = file.lines;
    if (!Number.isInteger(line) || line < 0 || line > length) {
      throw new FileProblem(
        `Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${length}]`,
      );
    }
    const own = file.lines.map((memory) => memory.text);
    await this.#write(file, [...own.slice(0, line), ...linesOf(text), ...own.slice(line)]);
    return `The file ${path} has been edited.`;
  }

  async #delete(path: string): Promise<string> {
    if (isRoot(path)) throw new FileProblem(`The folder ${root} cannot be deleted.`);
    await this.#write(await this.#file(path, ''), []);
    return `Successfully deleted ${path}`;
  }

  async #rename(from: string, to: string): Promise<string> {
    if (isRoot(from) || isRoot(to)) throw new FileProblem(`The folder ${root} cannot be renamed.`);
    const file = await this.#file(from, '');
    const name = nameIn(to);
    if ((await this.#files()).some((other) => other.name === name && other.lines.length > 0))
      throw new FileProblem(`The destination ${to} already exists`);
    for (const { id } of file.lines) await this.library.change(id, { character: characterOf(name) ?? null });
    return `Successfully renamed ${from} to ${to}`;
  }

  async #files(): Promise<readonly MemoryFile[]> {
    const memories = (await this.library.list()).toSorted(
      (one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1),
    );
    const files = new Map<string, Memory[]>();
    for (const memory of memories) {
      const name = memory.character ?? personFile;
      files.set(name, [...(files.get(name) ?? []), memory]);
    }
    return [...files].map(([name, lines]) => ({ name, lines }));
  }

  async #file(path: string, advice = '. Please provide a valid path.'): Promise<MemoryFile> {
    const name = isRoot(path) ? '' : nameIn(path);
    const file = (await this.#files()).find((each) => each.name === name);
    if (!file) throw new FileProblem(`The path ${path} does not exist${advice}`);
    return file;
  }

  /** Lines that stay keep their memories, with their dates and pins. */
  async #write({ name, lines }: MemoryFile, next: readonly string[]): Promise<void> {
    const long = next.find((text) => text.length > maxMemoryCharacters);
    if (long !== undefined) throw new FileProblem(`A line has at most ${maxMemoryCharacters} characters.`);
    if (next.length > maxLines) throw new FileProblem(`A file has at most ${maxLines} lines.`);
    const left = [...next];
    const removed: Memory[] = [];
    for (const memory of lines) {
      const index = left.indexOf(memory.text);
      if (index === -1) removed.push(memory);
      else left.splice(index, 1);
    }
    for (const text of left) {
      const replaced = removed.shift();
      if (replaced) await this.library.change(replaced.id, { text });
      else await this.library.add({ text, character: characterOf(name) });
    }
    for (const { id } of removed) await this.library.delete(id);
  }
}

function characterOf(name: string): string | undefined {
  return name === personFile ? undefined : name;
}

function isRoot(path: string): boolean {
  return path === root || path === `${root}/`;
}

function nameIn(path: string): string {
  const name = path.startsWith(`${root}/`) ? path.slice(root.length + 1).replace(/\.(?:md|txt)$/, '') : '';
  if (name === '' || name.length > 200 || /[/\\%\0]|^\.+$/.test(name))
    throw new FileProblem(`Path must be a file in ${root}, such as ${root}/${personFile}.md, and ${path} is not.`);
  return name;
}

const contentOf = ({ lines }: MemoryFile): string => lines.map(({ text }) => text).join('\n');

/** Empty lines and the marks of a list are no part of a memory. */
function linesOf(content: string): readonly string[] {
  return content.split('\n').flatMap((line) => line.replace(/^\s*[-*]\s+/, '').trim() || []);
}

function numbered(lines: readonly string[]): readonly string[] {
  return lines.map((line, index) => `${String(index + 1).padStart(6)}\t${line}`);
}

function inRange(lines: readonly string[], range: unknown): readonly string[] {
  if (!Array.isArray(range)) return lines;
  const [from, to] = range.map(Number);
  return lines.slice(Math.max(0, (from || 1) - 1), to === -1 || to === undefined ? undefined : to);
}

function occurrences(content: string, part: string): readonly number[] {
  const offsets: number[] = [];
  for (let index = content.indexOf(part); index !== -1; index = content.indexOf(part, index + part.length))
    offsets.push(index);
  return offsets;
}

function shortSize(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}K`;
}
