/** English texts of a folder as the pages see them: any of them may be in another language. */
export type Texts<English> = English extends string
  ? string
  : English extends (...args: infer Args) => string
    ? (...args: Args) => string
    : { readonly [Key in keyof English]: Texts<English[Key]> };

/** Their translation. What is missing stays English; a test asks for everything. */
export type Translated<English> = English extends string
  ? string
  : English extends (...args: infer Args) => string
    ? (...args: Args) => string
    : English extends readonly unknown[]
      ? { readonly [Key in keyof English]: Translated<English[Key]> }
      : { readonly [Key in keyof English]?: Translated<English[Key]> };

/** The English texts with those that have a translation replaced. */
export function translate(english: unknown, translated: unknown): unknown {
  if (typeof english !== 'object' || english === null)
    return typeof translated === typeof english ? translated : english;
  const inner = (translated ?? {}) as Record<string, unknown>;
  if (Array.isArray(english)) return english.map((text, index) => translate(text, inner[index]));
  return Object.fromEntries(Object.entries(english).map(([key, text]) => [key, translate(text, inner[key])]));
}
