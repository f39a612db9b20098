/** More alternatives than these are not expanded. */
const maxAlternatives = 64;

/**
 * Whether a relative path with slashes matches a glob: `*` and `?` within a name, `**` for any number of folders, `{a,b}` for alternatives. A glob without a
 * slash matches names in every folder. Needs no more than the product of both lengths.
 */
export function matchesGlob(glob: string, path: string): boolean {
  return alternatives(glob).some((one) => {
    const pattern = one.replace(/^\.?\//, '').split('/');
    // `docs/` is everything below it.
    if (pattern.length > 1 && pattern.at(-1) === '') pattern.splice(-1, 1, '**');
    return matchesParts(one.includes('/') ? pattern : ['**', one], path.split('/'));
  });
}

/** `**` takes as few folders as possible, and one more when the rest does not match. */
function matchesParts(pattern: readonly string[], parts: readonly string[]): boolean {
  return matchesSequence(
    pattern,
    parts,
    (one) => one === '**',
    (one, part) => matchesName(one, part),
  );
}

function matchesName(pattern: string, name: string): boolean {
  return matchesSequence(
    [...pattern],
    [...name],
    (one) => one === '*',
    (one, character) => one === '?' || one === character,
  );
}

/** Wildcards in a sequence: only the last one is ever tried again. */
function matchesSequence(
  pattern: readonly string[],
  parts: readonly string[],
  isWildcard: (one: string) => boolean,
  equals: (one: string, part: string) => boolean,
): boolean {
  let [at, next, wildcard, taken] = [0, 0, -1, 0];
  while (at < parts.length) {
    const one = pattern[next];
    if (one !== undefined && isWildcard(one)) {
      wildcard = next;
      taken = at;
      next += 1;
    } else if (one !== undefined && equals(one, parts[at] ?? '')) {
      next += 1;
      at += 1;
    } else if (wildcard !== -1) {
      taken += 1;
      at = taken;
      next = wildcard + 1;
    } else return false;
  }
  return pattern.slice(next).every(isWildcard);
}

function alternatives(glob: string): readonly string[] {
  let expanded: readonly string[] = [glob];
  for (;;) {
    const next = expanded.flatMap((one) => {
      const [whole, inner] = /\{([^{}]*)\}/.exec(one) ?? [];
      return whole === undefined ? [one] : (inner ?? '').split(',').map((each) => one.replace(whole, () => each));
    });
    if (next.length === expanded.length && next.every((one, index) => one === expanded[index])) return expanded;
    if (next.length > maxAlternatives) return expanded;
    expanded = next;
  }
}
