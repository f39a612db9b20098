import { byteSize } from '../core/readable.ts';
import { type Deletion, deleteModel, filesOfModel, otherOwner } from '../library/delete-model.ts';
import type { FoundFile } from '../library/find-models.ts';
import type { Place } from '../library/places.ts';
import type { Terminal } from '../observe/terminal.ts';
import { type Command, flag, readWords, showUsage, text } from './command.ts';
import { findFile } from './models-command.ts';

interface RmCommand extends Pick<Command, 'words' | 'places' | 'folder' | 'terminal'> {
  /** Asks the person; undefined where nobody can answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

const usage = `parley rm NAME [--yes] [--admindir FOLDER]
Deletes a model of the models folder with all that belongs to it: its parts, its projector and draft models that no other model there needs.
Models of other programs are not deleted. --yes deletes without a question.`;

const wordOptions = { admindir: text, yes: { ...flag, short: 'y' } } as const;

/** `parley rm`: resolves to the exit code. */
export async function rmCommand({ words, places, folder, terminal, ask }: RmCommand): Promise<number> {
  const options = readOptions(words, folder);
  if (!options) return showUsage(terminal, usage, { words, options: wordOptions });
  const own: Place = { program: 'Parley', folder: options.folder, layout: 'files' };
  const file = await findFile(options.name, [own, ...places], terminal);
  if (!file) return 2;
  try {
    const model = await deletable(file, options.folder);
    for (const path of model.files) terminal.line(path);
    if (!options.yes && !(await agrees(model, ask, terminal))) return 2;
    const { bytes } = await deleteModel(file.path, options.folder);
    terminal.line(`Deleted. ${byteSize(bytes)} are free again.`);
    return 0;
  } catch (error) {
    terminal.line((error as Error).message);
    return 3;
  }
}

/** Rejects with a sentence for people. */
async function deletable(file: FoundFile, folder: string): Promise<Deletion> {
  // A path has no program.
  if (file.program !== '' && file.program !== 'Parley') throw new Error(otherOwner(file));
  return filesOfModel(file.path, folder);
}

async function agrees({ bytes, files }: Deletion, ask: RmCommand['ask'], terminal: Terminal): Promise<boolean> {
  const what = `${files.length === 1 ? 'this file' : `these ${files.length} files`} (${byteSize(bytes)})`;
  if (ask && /^y(es)?$/i.test((await ask(`Delete ${what}? [y/N] `)).trim())) return true;
  terminal.line(ask ? 'Nothing was deleted.' : `Nothing was deleted. To delete ${what} without a question, add --yes.`);
  return false;
}

/** Undefined if the words are not understood. */
function readOptions(words: readonly string[], usual: string) {
  const { values, others = [] } = readWords(words, wordOptions) ?? {};
  const [name, ...rest] = others;
  if (!values || name === undefined || rest.length > 0) return undefined;
  return { name, folder: values.admindir || usual, yes: values.yes ?? false };
}
