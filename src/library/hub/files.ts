import type { HubFiles } from '../../core/models-view.ts';
import { DownloadError } from '../download.ts';
import type { Source } from '../source.ts';
import { chosenVariant, projectorFor, variantsOf } from '../variants.ts';
import { readRepository } from './repository.ts';
import type { HubParts } from './request.ts';

/** The files of a model that can be downloaded, and the one that is downloaded by default. */
export async function hubFiles(
  { repository: id, revision }: Pick<Source & { type: 'model' }, 'repository' | 'revision'>,
  parts: HubParts,
): Promise<HubFiles> {
  const { commit, files } = await readRepository(id, revision, parts);
  const variants = variantsOf(files).filter(({ whole }) => whole);
  const chosen = chosenVariant(variants, undefined);
  if (!chosen)
    throw new DownloadError(`${id} has no model file (.gguf). Look for a repository whose name ends with GGUF`);
  const projector = projectorFor(files, chosen);
  return {
    model: id,
    commit,
    architecture: null,
    supported: null,
    context: null,
    trainedContext: null,
    files: variants.map((variant) => ({
      name: variant.label,
      bytes: variant.bytes,
      parts: variant.parts.length,
      fit: null,
      memoryBytes: null,
      cardLayers: null,
      layers: null,
      speed: null,
      chosen: variant === chosen,
    })),
    reason: 'It is small and nearly as good as the original.',
    projector: projector ? { bytes: projector.bytes } : null,
    draft: null,
  };
}
