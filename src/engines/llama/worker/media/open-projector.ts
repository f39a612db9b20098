import { statSync } from 'node:fs';
import type { LoadOptions, ProjectorOptions } from '../../load-options.ts';
import type { NativeMedia } from '../native/native-media.ts';
import type { ContextParams, Pointer } from '../native/structs.ts';
import { Projector } from './projector.ts';

export interface ProjectorSurroundings {
  readonly options: LoadOptions;
  readonly model: Pointer;
  readonly gpus: readonly Pointer[];
  readonly width: number;
  readonly contextSize: number;
  readonly params: Pick<ContextParams, 'n_batch' | 'n_ubatch'>;
}

/** Undefined without `--mmproj`, and null where the library refuses the file: it says why on standard error. */
export async function openProjector(
  media: NativeMedia | undefined,
  { options, model, gpus, width, contextSize, params }: ProjectorSurroundings,
): Promise<Projector | undefined | null> {
  const { projector } = options;
  if (!media || !projector) return undefined;
  const [gpu = null] = projector.useGpu ? gpus : [];
  const pointer = await media.projectorNew(projector.path, model, {
    ...media.projectorDefaults(),
    use_gpu: projector.useGpu,
    device: gpu,
    print_timings: false,
    n_threads: options.batchThreads,
    flash_attn_type: options.flashAttention ? -1 : 0,
    image_min_tokens: projector.minimumTokens,
    image_max_tokens: projector.maximumTokens,
  });
  if (!pointer) return null;
  const portion = Math.min(params.n_batch, params.n_ubatch);
  const identity = identityOf(projector);
  return new Projector({ media, pointer, options: projector, identity, width, contextSize, portion });
}

function identityOf({ path, longestSide, minimumTokens, maximumTokens }: ProjectorOptions): string {
  const { size, mtimeMs } = statSync(path);
  return JSON.stringify([size, mtimeMs, longestSide, minimumTokens, maximumTokens]);
}

/** What the projector will take of the graphics memory, at least. */
export function projectorBytes({ projector }: LoadOptions): number {
  return projector?.useGpu ? statSync(projector.path).size : 0;
}
