/** `<lora:NAME:WEIGHT>` and its like for networks that a program adds to its model. */
const tag = /<(?:lora|lyco|hypernet):([^:<>]{1,200})(?::[^<>]{0,100})?>/gi;

/** The prompt without the tags: to a model that does not have the networks they would be words like any other. */
export function withoutLoraTags(prompt: string): { readonly prompt: string; readonly names: readonly string[] } {
  const names = [...prompt.matchAll(tag)].map(([, name = '']) => name);
  if (names.length === 0) return { prompt, names };
  const words = prompt.replace(tag, ' ').replace(/[ \t]{2,}/g, ' ');
  return { prompt: words.replace(/ +([,.])/g, '$1').trim(), names };
}
