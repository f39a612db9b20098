import { byteSize } from '../core/readable.ts';
import { type Deletion, deleteModel, filesOfModel, otherOwner } from '../library/delete-model.ts';
import { withOwnFolder } from '../library/model-folders.ts';
import { type Command, command, flag, text } from './command.ts';
import { findFile } from './models-command.ts';

type RmCommand = Pick<Command, 'args' | 'modelFolders' | 'folder' | 'terminal' | 'ask'>;

const usage = `parley rm NAME [--yes] [--admindir FOLDER]
Deletes a model of the models folder with all that belongs to it: its parts, its projector and draft models that no other model there needs.
Models of other programs are not deleted. --yes deletes without a question.`;

const options = { admindir: text, yes: { ...flag, short: 'y' } } as const;

/** `parley rm` */
export const rmCommand = command(
  { usage, options, failureCode: 3 },
  async (
    { values, positionals: [name, ...rest] },
    { modelFolders, folder: modelsFolder, terminal, ask }: RmCommand,
  ) => {
    if (name === undefined || rest.length > 0) return undefined;
    const folder = values.admindir || modelsFolder;
    const file = await findFile(name, withOwnFolder(folder, modelFolders));
    // A path has no program.
    if (file.program !== '' && file.program !== 'Parley') throw new Error(otherOwner(file));
    const model = await filesOfModel(file.path, folder);
    for (const path of model.files) terminal.line(path);
    if (!values.yes && !(await agrees(model, { ask, terminal }))) return 2;
    const { bytes } = await deleteModel(file.path, folder);
    terminal.line(`Deleted. ${byteSize(bytes)} are free again.`);
    return 0;
  },
);

async function agrees({ bytes, files }: Deletion, { ask, terminal }: Pick<Command, 'ask' | 'terminal'>) {
  const what = `${files.length === 1 ? 'this file' : `these ${files.length} files`} (${byteSize(bytes)})`;
  if (ask && /^y(es)?$/i.test((await ask(`Delete ${what}? [y/N] `)).trim())) return true;
  terminal.line(ask ? 'Nothing was deleted.' : `Nothing was deleted. To delete ${what} without a question, add --yes.`);
  return false;
}
