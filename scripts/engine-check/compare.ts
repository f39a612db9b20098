import type { FieldFacts, HeaderFacts } from './headers.ts';

type Group = keyof HeaderFacts;
const groups: readonly Group[] = ['functions', 'structs', 'constants'];

/** The part of the facts that the declarations name. */
export function usedFacts(facts: HeaderFacts, used: HeaderFacts): HeaderFacts {
  const part = (group: Group) => {
    const names = Object.keys(used[group]).filter((name) => name in facts[group]);
    return Object.fromEntries(names.sort().map((name) => [name, facts[group][name]]));
  };
  return Object.fromEntries(groups.map((group) => [group, part(group)])) as unknown as HeaderFacts;
}

/** How the headers differ from what is declared, a sentence for each difference. */
export function differences(declared: HeaderFacts, headers: HeaderFacts): readonly string[] {
  return groups.flatMap((group) =>
    Object.keys(declared[group]).flatMap((name) => {
      const [own, theirs] = [declared[group][name], headers[group][name]];
      if (theirs === undefined) return [`${name} is not in the headers.`];
      if (group === 'structs')
        return fieldDifferences(name, own as readonly FieldFacts[], theirs as readonly FieldFacts[]);
      return own === theirs ? [] : [`${name} is declared as ${own}; the headers have ${theirs}.`];
    }),
  );
}

function fieldDifferences(
  struct: string,
  own: readonly FieldFacts[],
  theirs: readonly FieldFacts[],
): readonly string[] {
  const text = ({ kind, offset, size }: FieldFacts) => `${kind} at ${offset}, ${size} bytes`;
  const missing = theirs.filter(({ name }) => !own.some((field) => field.name === name));
  return [
    ...own.flatMap((field) => {
      const theirField = theirs.find(({ name }) => name === field.name);
      if (theirField === undefined) return [`${struct}.${field.name} is not in the headers.`];
      return text(field) === text(theirField)
        ? []
        : [`${struct}.${field.name} is declared as ${text(field)}; the headers have ${text(theirField)}.`];
    }),
    ...missing.map((field) => `${struct}.${field.name} (${text(field)}) is not declared.`),
  ];
}

/** A C program that ends with an error if a compiler lays a struct out in another way than these facts say. */
export function probeProgram(includes: readonly string[], { structs }: Pick<HeaderFacts, 'structs'>): string {
  const checks = Object.entries(structs).flatMap(([struct, fields]) =>
    fields.flatMap(({ name, offset, size }) => [
      `_Static_assert(offsetof(struct ${struct}, ${name}) == ${offset}, "${struct}.${name} is not at ${offset}");`,
      `_Static_assert(sizeof(((struct ${struct} *) 0)->${name}) == ${size}, "${struct}.${name} has not ${size} bytes");`,
    ]),
  );
  return [
    '#include <stddef.h>',
    ...includes.map((file) => `#include "${file}"`),
    ...checks,
    'int main(void) { return 0; }',
    '',
  ].join('\n');
}
