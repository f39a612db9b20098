/** Shown to clients without the key instead of every model name. */
export const hiddenModelName = 'koboldcpp/protected-model';

/** A name without the characters that are not allowed in ids. Marks are vowels in some scripts. */
const plainName = (name: string): string => name.replace(/[^\p{L}\p{M}\p{N}_./-]/gu, '');

export const modelId = (name: string): string => `koboldcpp/${plainName(name)}`;

export const equalName = (left: string, right: string): boolean => nameKey(left) === nameKey(right);

/** Ignores file extensions too, and slashes, which ids of earlier versions did not have. */
export const sameName = (left: string, right: string): boolean => loose(left) === loose(right);

/** The exact match, or else the first that differs only in the extension. */
export function findNamed<Value>(
  values: readonly Value[],
  namesOf: (value: Value) => readonly string[],
  requested: string,
): Value | undefined {
  return (
    findExactly(values, namesOf, requested) ??
    values.find((one) => namesOf(one).some((name) => sameName(name, requested)))
  );
}

/** Case-sensitive first: two files may differ only in case. */
export function findExactly<Value>(
  values: readonly Value[],
  namesOf: (value: Value) => readonly string[],
  requested: string,
): Value | undefined {
  return (
    values.find((one) => namesOf(one).includes(requested)) ??
    values.find((one) => namesOf(one).some((name) => equalName(name, requested)))
  );
}

/** The shortest form of each model that is unique and not taken; with a number if there is none. */
export function uniqueNames(forms: readonly (readonly string[])[], taken: readonly string[] = []): string[] {
  const used = new Set(taken.map(nameKey));
  const owners = new Map<string, number>();
  for (const own of forms) for (const key of new Set(own.map(nameKey))) owners.set(key, (owners.get(key) ?? 0) + 1);
  const isFree = (form: string): boolean => nameKey(form) !== '' && !used.has(nameKey(form));
  return forms.map((own) => {
    const whole = own.at(-1) ?? '';
    const short = own.find((form) => isFree(form) && owners.get(nameKey(form)) === 1);
    const name = short ?? (isFree(whole) ? whole : numbered(whole));
    used.add(nameKey(name));
    return name;
  });

  function numbered(form: string): string {
    for (let number = 2; ; number++) {
      const name = `${form}-${number}`;
      if (!used.has(nameKey(name)) && !owners.has(nameKey(name))) return name;
    }
  }
}

/** An alias of a model. `*` in the pattern matches any text. */
export interface ModelAlias {
  readonly pattern: string;
  readonly target: string;
}

export function aliasTarget(aliases: readonly ModelAlias[], requested: string): string | undefined {
  const name = requested
    .trim()
    .toLowerCase()
    .replace(/:latest$/, '');
  return aliases.find(({ pattern }) => matchesGlob(pattern.toLowerCase(), name))?.target;
}

/** Names that apps have built in: they get the default embeddings model. */
export const isCommonEmbeddingName = (name: string): boolean => /^text-embedding-(ada|3)-/i.test(name.trim());

/** `*` in the pattern matches any text. In linear time: the search for each part starts after the previous one. */
export function matchesGlob(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let from = first.length;
  const end = name.length - last.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

function loose(name: string): string {
  return nameKey(name)
    .replace(/\.(gguf|kcpps|kcppt)$/, '')
    .replaceAll('/', '');
}

/** Equal for names that differ only in case, `:latest` and the id prefix. */
export function nameKey(name: string): string {
  return plainName(
    name
      .toLowerCase()
      .replace(/:latest$/, '')
      .replace(/^koboldcpp\//, ''),
  );
}
