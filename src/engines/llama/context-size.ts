import type { LoadOptions } from './load-options.ts';

type Wish = Pick<LoadOptions, 'contextSize' | 'contextSizeGiven'>;

/** The context of a sequence: what somebody asked for, or the default as far as the model was trained for it. */
export function contextSizeFor({ contextSize, contextSizeGiven }: Wish, trainedContext: number): number {
  return contextSizeGiven ? contextSize : Math.min(contextSize, trainedContext);
}

/** The same before the model is loaded, from what its file says; a file that says nothing leaves the default. */
export function expectedContextSize(
  options: Wish & Pick<LoadOptions, 'trainedContextOverride' | 'shape' | 'metadataOverrides'>,
): number {
  const key = `${options.shape.architecture}.context_length`;
  const overridden = options.metadataOverrides.find((one) => one.key === key)?.value;
  const trained = options.trainedContextOverride || Number(overridden ?? options.shape.trainedContext);
  return trained > 0 ? contextSizeFor(options, trained) : options.contextSize;
}
