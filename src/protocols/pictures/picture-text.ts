import type { ImageFacts, ImageRequest } from '../../core/image.ts';
import type { Drawn } from './drawn.ts';
import { infotext } from './infotext.ts';
import { samplerDisplay } from './sampler-names.ts';

export interface TextParts {
  readonly request: ImageRequest;
  readonly drawn: Pick<Drawn, 'pictures' | 'width' | 'height' | 'steps' | 'sampler' | 'scheduler' | 'notes'>;
  readonly facts: ImageFacts;
  readonly product: { readonly name: string; readonly version: string };
}

/** What clients compare where no hash is known. */
const noHash = '8888888888';

export function modelHash({ sha256 }: Pick<ImageFacts, 'sha256'>): string {
  return sha256?.slice(0, 10) ?? noHash;
}

/** The text that goes into one picture. Some read its last line by position: the first seven of it are always there. */
export function pictureText({ request, drawn, facts, product }: TextParts, seed: number): string {
  const { prompt, negativePrompt, guidance } = request;
  return infotext({
    prompt,
    negativePrompt,
    entries: [
      ['Steps', drawn.steps],
      ['Sampler', samplerDisplay(drawn.sampler)],
      ['Schedule type', chosenScheduler(drawn, facts)],
      ['CFG scale', guidance],
      ['Seed', seed],
      ['Size', `${drawn.width}x${drawn.height}`],
      ['Model hash', modelHash(facts)],
      ['Model', facts.name],
      ['Denoising strength', request.initial ? request.strength : undefined],
      ['Clip skip', request.clipSkip > 1 ? request.clipSkip : undefined],
      ['Version', `${product.name} ${product.version}`],
    ],
  });
}

/** Left out where it is the model's own. */
export function chosenScheduler(
  { scheduler }: Pick<Drawn, 'scheduler'>,
  { schedulers }: Pick<ImageFacts, 'schedulers'>,
): string | undefined {
  return scheduler === '' || scheduler === schedulers[0] ? undefined : scheduler;
}
