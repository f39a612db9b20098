import type { AskedLora, ImageFacts } from '../../core/image.ts';

/** `<lora:NAME:WEIGHT>` and its like for networks that a program adds to its model. */
const tag = /<(?:lora|lyco|hypernet):([^:<>]{1,200})(?::([^<>]{0,100}))?>/gi;

/** The prompt without the tags: to a model that does not have the networks they would be words like any other. */
export function withoutLoraTags(prompt: string): { readonly prompt: string; readonly loras: readonly AskedLora[] } {
  const loras = [...prompt.matchAll(tag)].map(([, name = '', weight]) => ({ name, weight: weightOf(weight) }));
  if (loras.length === 0) return { prompt, loras };
  const words = prompt.replace(tag, ' ').replace(/[ \t]{2,}/g, ' ');
  return { prompt: words.replace(/ +([,.])/g, '$1').trim(), loras };
}

/** Those that the model has, and a sentence for each that it has not. */
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

/** Two weights are for the model and its text encoder; the first counts. */
function weightOf(text: string | undefined): number {
  const weight = Number.parseFloat(text ?? '1');
  return Number.isFinite(weight) ? weight : 1;
}
