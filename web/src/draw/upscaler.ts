/** The upscaler for this factor: the smallest network that reaches it, or the last one, which is the largest. */
export function upscalerFor(upscalers: readonly string[], factor: number): string {
  const scaleOf = (name: string): number => Number(/(\d+)x$/i.exec(name)?.[1] ?? 0);
  const large = upscalers.filter((name) => scaleOf(name) >= factor).sort((a, b) => scaleOf(a) - scaleOf(b));
  return large[0] ?? upscalers.at(-1) ?? '';
}
