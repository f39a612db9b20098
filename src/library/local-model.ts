import { join, relative, sep } from 'node:path';
import { filesBelow, findModels } from './find-models.ts';
import type { ModelFolder } from './model-folders.ts';
import { sizeOf } from './part-file.ts';
import type { PulledModel } from './pull-model.ts';
import type { Source } from './source.ts';
import { chosenVariant, projectorFor, variantsOf } from './variants.ts';

/** A model of the hub that is on this machine already, whichever program downloaded it. */
export async function localModel(
  { repository: id, revision, tag }: Omit<Source & { type: 'model' }, 'type'>,
  modelFolders: readonly ModelFolder[],
): Promise<PulledModel | undefined> {
  // The revision of a folder is not known.
  if (revision !== 'main') return undefined;
  const folders = (await findModels(modelFolders)).flatMap(({ repository }) =>
    repository?.id.toLowerCase() === id.toLowerCase() ? [repository.folder] : [],
  );
  // Downloads put a file of a folder beside the others, with the names of its folders if another one has the same name.
  const tags = tag === undefined ? [undefined] : [...new Set([tag, tag.split('/').at(-1), tag.replaceAll('/', '_')])];
  for (const folder of new Set(folders)) {
    const paths = await filesBelow(folder, /\.gguf$/i);
    const files = await Promise.all(
      paths.map(async (path) => ({
        path: relative(folder, path).replaceAll(sep, '/'),
        bytes: await sizeOf(path),
      })),
    );
    const present = files.filter(({ bytes }) => bytes > 0);
    const variant = tags.flatMap((one) => chosenVariant(variantsOf(present), one) ?? [])[0];
    const [first] = variant?.parts ?? [];
    if (!variant || !first) continue;
    const projector = projectorFor(present, variant);
    return { path: join(folder, first.path), projector: projector && join(folder, projector.path) };
  }
  return undefined;
}
