/** Shown instead of every model's name to clients without the key, in all lists alike. */
export const hiddenModelName = 'koboldcpp/protected-model';

/** A name as clients see it: what stands in no id is left out. */
export function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_.-]/gu, '');
}

/** The id of a model in the lists; a request that names it is answered by that model. */
export function modelId(name: string): string {
  return `koboldcpp/${plainName(name)}`;
}

/** Names of models are compared without regard to case and the tag that means no tag. */
export function equalName(left: string, right: string): boolean {
  return bare(left) === bare(right);
}

/** The same, and without regard to the ending of a file. */
export function sameName(left: string, right: string): boolean {
  return withoutEnding(left) === withoutEnding(right);
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

export function findExactly<Value>(
  values: readonly Value[],
  namesOf: (value: Value) => readonly string[],
  asked: string,
): Value | undefined {
  return values.find((one) => namesOf(one).some((name) => equalName(name, asked)));
}

function withoutEnding(name: string): string {
  return bare(name).replace(/\.(gguf|kcpps|kcppt)$/, '');
}

function bare(name: string): string {
  return plainName(
    name
      .toLowerCase()
      .replace(/:latest$/, '')
      .replace(/^koboldcpp\//, ''),
  );
}
