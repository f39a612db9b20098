/** Shown instead of every model's name to clients without the key, in all lists alike. */
export const hiddenModelName = 'koboldcpp/protected-model';

/** A name as clients see it: characters that no id may hold are left out. */
export function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_./-]/gu, '');
}

/** The id of a model in the lists; a request that names it is answered by that model. */
export function modelId(name: string): string {
  return `koboldcpp/${plainName(name)}`;
}

export function equalName(left: string, right: string): boolean {
  return nameKey(left) === nameKey(right);
}

/** The same, and without regard to the ending of a file and to slashes, which ids of earlier versions did not have. */
export function sameName(left: string, right: string): boolean {
  return loose(left) === loose(right);
}

/** The one that is called so exactly, ending and all; or else the first that is called so but for the ending. */
export function findNamed<Value>(
  values: readonly Value[],
  namesOf: (value: Value) => readonly string[],
  asked: string,
): Value | undefined {
  return (
    findExactly(values, namesOf, asked) ?? values.find((one) => namesOf(one).some((name) => sameName(name, asked)))
  );
}

/** Letter for letter first: on some systems two files differ only in case. */
export function findExactly<Value>(
  values: readonly Value[],
  namesOf: (value: Value) => readonly string[],
  asked: string,
): Value | undefined {
  return (
    values.find((one) => namesOf(one).includes(asked)) ??
    values.find((one) => namesOf(one).some((name) => equalName(name, asked)))
  );
}

/**
 * The name of each model: the shortest of its forms that no other model has and that is not taken. Where two models have all
 * forms in common but for case or for characters that no id holds, a number tells them apart.
 */
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

/** Another name for a model. A star in the pattern stands for any text. */
export interface ModelAlias {
  readonly pattern: string;
  readonly target: string;
}

/** The model that the first matching alias means; undefined where none matches. */
export function aliasTarget(aliases: readonly ModelAlias[], asked: string): string | undefined {
  const name = asked
    .trim()
    .toLowerCase()
    .replace(/:latest$/, '');
  return aliases.find(({ pattern }) => matches(pattern.toLowerCase(), name))?.target;
}

/** Names that apps have built in and that mean no model in particular: they get the default model for embeddings. */
export function isCommonEmbeddingName(name: string): boolean {
  return /^text-embedding-(ada|3)-/i.test(name.trim());
}

/** In linear time: each part is looked for from where the one before it ended. */
function matches(pattern: string, name: string): boolean {
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

/** Equal for names that are the same but for case and the tag that means no tag. */
export function nameKey(name: string): string {
  return plainName(
    name
      .toLowerCase()
      .replace(/:latest$/, '')
      .replace(/^koboldcpp\//, ''),
  );
}
