/**
 * The RoPE base that lets a model read further than it was trained: the base grows so that the longest wavelengths cover
 * the new context as they covered the old one.
 */
export function stretchedRopeBase(base: number, trainedContext: number, contextSize: number): number {
  if (contextSize <= trainedContext) return base;
  const turns = (size: number) => Math.log(Math.max(size, 7) / (2 * Math.PI));
  return base ** (turns(contextSize) / turns(trainedContext));
}
