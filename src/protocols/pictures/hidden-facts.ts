import type { ImageFacts } from '../../core/image.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { Call } from '../../http/call.ts';

/** What a client may know of the image model: without the key no name, no file and no hash. */
export function factsFor(
  { authorized }: Pick<Call, 'authorized'>,
  facts: ImageFacts | undefined,
): ImageFacts | undefined {
  if (authorized || !facts) return facts;
  const { sha256: _hash, vae: _vae, ...rest } = facts;
  return { ...rest, name: hiddenModelName, title: hiddenModelName, path: hiddenModelName, loras: [] };
}
