import type { AskedLora, ImageFacts } from '../../core/image.ts';

/** `<lora:NAME:WEIGHT>` and similar tags. */
const tag = /<(?:lora|lyco|hypernet):([^:<>]{1,200})(?::([^<>]{0,100}))?>/gi;

/** The prompt without its tags, which a model would read as words. */
export function withoutLoraTags(prompt: string): { readonly prompt: string; readonly loras: readonly AskedLora[] } {
  const loras = [...prompt.matchAll(tag)].map(([, name = '', weight]) => ({ name, weight: weightOf(weight) }));
  if (loras.length === 0) return { prompt, loras };
  const words = prompt.replace(tag, ' ').replace(/[ \t]{2,}/g, ' ');
  return { prompt: words.replace(/ +([,.])/g, '$1').trim(), loras };
}

/** The LoRAs that the model has, and a note for each that it does not have. */
export function knownLoras(
  asked: readonly AskedLora[],
  { loras = [] }: Pick<ImageFacts, 'loras'>,
): { readonly loras?: readonly AskedLora[]; readonly notes: readonly string[] } {
  const isKnown = ({ name }: AskedLora): boolean =>
    loras.some((each) => [each.name, each.file].some((one) => one.toLowerCase() === name.toLowerCase()));
  const known = asked.filter(isKnown);
  const notes = asked.filter((each) => !isKnown(each)).map(({ name }) => `There is no LoRA ${name}`);
  return { ...(known.length > 0 ? { loras: known } : {}), notes };
}

/** Of two weights the second is for the text encoder and ignored. */
function weightOf(text: string | undefined): number {
  const weight = Number.parseFloat(text ?? '1');
  return Number.isFinite(weight) ? weight : 1;
}
